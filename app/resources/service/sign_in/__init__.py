"""People sign in and out.

`routes`: where a browser is sent to the issuer, where it comes back, and where a session ends.
"""
