"""The methods of a service as estimators of scikit-learn, which must be installed.

- `clusterer`: `UmbelClusterer`, any method that takes features
- `classifier`: `UmbelClassifier`, methods that learn classes
- `transformer`: `UmbelTransformer`, methods that learn a transformation of rows
- `estimator`: what they share; start here for parameters by name
"""

from umbel_client.packages import package

package("sklearn", "umbel_client.sklearn")

from umbel_client.sklearn.classifier import UmbelClassifier  # noqa: E402
from umbel_client.sklearn.clusterer import UmbelClusterer  # noqa: E402
from umbel_client.sklearn.transformer import UmbelTransformer  # noqa: E402

__all__ = ["UmbelClassifier", "UmbelClusterer", "UmbelTransformer"]
