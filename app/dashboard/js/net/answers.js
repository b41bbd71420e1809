// The service's answers and request bodies as types. They are the schemas of `openapi/openapi.json`;
// what a schema leaves open ("an object") is narrowed here.

/** @typedef {import("contract").components["schemas"]} Schemas */

/**
 * @typedef {Schemas["JobBody"]["status"]} JobStatus
 * @typedef {Schemas["AdvanceBody"]} Progress
 * @typedef {{ step: string, [parameter: string]: unknown }} PreprocessStep
 * @typedef {Schemas["StepBody"]} Step a method with its parameters
 * @typedef {{
 *   tree?: string,
 *   model?: string,
 *   metrics?: Record<string, number>,
 *   curves?: Record<string, [x: number, y: number][]>,
 *   chosen?: Record<string, { value: string | number, reason: string }>,
 *   evaluation?: Evaluation & Partial<Omit<ClassifierEvaluation, "tables">>,
 *   tables?: string,
 *   dataset?: string,
 * }} Result `tables`: the address of the tables of a classifier's evaluation
 * @typedef {import("./problem.js").ProblemDetails} ProblemDetails
 */

/**
 * @typedef {Omit<Schemas["JobBody"], "error" | "result" | "preprocess"> & {
 *   error: ProblemDetails | null,
 *   result: Result | null,
 *   preprocess: PreprocessStep[],
 * }} Job
 * @typedef {Omit<Schemas["Comparison"], "error" | "table"> & {
 *   error: ProblemDetails | null,
 *   table: ComparisonRow[] | null,
 * }} Comparison
 * @typedef {Schemas["RunDifference"]} RunDifference
 * @typedef {Omit<Schemas["Row"], "error" | "preprocess"> & {
 *   error: ProblemDetails | null,
 *   preprocess: PreprocessStep[],
 * }} ComparisonRow
 * @typedef {Omit<Schemas["DatasetBody"], "problem"> & { problem: ProblemDetails | null }} Dataset
 * @typedef {Omit<Schemas["ModelBody"], "preprocess"> & { preprocess: PreprocessStep[] }} Model
 * @typedef {Omit<Schemas["MethodBody"], "params"> & { params: ObjectSchema }} Method
 * @typedef {Schemas["WaitingValue"]} WaitingValue
 * @typedef {Schemas["InputBody"]} MethodInput
 * @typedef {Schemas["Evaluation"]} Evaluation
 * @typedef {Schemas["Prediction"]} Prediction
 * @typedef {Schemas["ModelEvaluation"]} ClassifierEvaluation
 * @typedef {Schemas["EvaluationTables"]} ClassifierTables
 * @typedef {Schemas["ClassF1"]} ClassRow
 * @typedef {Schemas["LevelF1"]} LevelRow
 * @typedef {Schemas["ClassSizeF1"]} SizeRow
 * @typedef {Schemas["NodeF1"]} NodeRow
 * @typedef {Schemas["Confusion"]} Confusion
 */

/**
 * @typedef {Schemas["TreeSummary"]} TreeSummary
 * @typedef {Schemas["TreeBody"]} Tree
 * @typedef {Schemas["TreeNode"]} TreeNode
 * @typedef {Schemas["View"]} View the part of a tree that fits into the requested number of nodes
 * @typedef {Schemas["ViewNode"]} ViewNode
 * @typedef {Schemas["NodeBody"]} NodeDetails
 * @typedef {Schemas["NodeLabels"]} NodeLabels
 * @typedef {Schemas["EditionBody"]} Edition
 * @typedef {Schemas["EditedBody"]} Edited
 * @typedef {Schemas["ChangeBody"]} EditionChange
 * @typedef {Schemas["ChangeBody"]["operations"][number]} EditionOperation
 * @typedef {Schemas["ShareBody"]} Share
 * @typedef {Schemas["NewShareBody"]} NewShare
 * @typedef {Schemas["SharedBody"]} Shared
 * @typedef {Omit<Schemas["MapBody"], "error"> & { error: ProblemDetails | null }} PointMap
 * @typedef {Omit<Schemas["HeatmapBody"], "error"> & { error: ProblemDetails | null }} Heatmap
 * @typedef {Schemas["HeatmapResult"]} HeatmapResult
 * @typedef {Schemas["AxesBody"]} HeatmapAxes
 * @typedef {Omit<Schemas["AttachmentBody"], "error"> & { error: ProblemDetails | null }} Attachment
 * @typedef {Schemas["ColumnBody"]} ItemColumn
 * @typedef {Schemas["ExamplesBody"]} ItemExamples
 * @typedef {Schemas["OutlierBody"]} ItemOutlier
 * @typedef {Schemas["LeafAssignments"]} LeafAssignments
 * @typedef {Schemas["ItemBody"]} ItemDetails
 * @typedef {Schemas["SelectionBody"]} Selection
 * @typedef {Schemas["FittingNode"]} FittingNode
 * @typedef {Schemas["PlaceBody"]} Place
 * @typedef {Schemas["NodePicture"]} NodePicture
 * @typedef {Schemas["MembersBody"]} Members
 * @typedef {Schemas["ConfusionsBody"]} Confusions which classes are taken for which
 * @typedef {Schemas["ConfusedClass"]} ConfusedClass
 * @typedef {Schemas["ConfusedPair"]} ConfusedPair
 * @typedef {Schemas["MergesBody"]} Merges what merging classes gains and loses
 * @typedef {Schemas["AgreementBody"]} Agreement which trees have a node of a consensus
 * @typedef {Schemas["ConsensusBody"]} Consensus
 * @typedef {Schemas["Hits"]} Hits
 * @typedef {Schemas["Hit"]} Hit
 * @typedef {Schemas["Levels"]} Levels
 * @typedef {Schemas["LevelBody"]} Level
 * @typedef {Schemas["LayersBody"]} Layers
 * @typedef {Schemas["LayerBody"]} Layer
 * @typedef {Schemas["TangleBody"]} Tangle
 * @typedef {Schemas["TreeStepsBody"]} Steps trees that a fit had on its way
 * @typedef {Schemas["ClustersBody"]} Clusters
 * @typedef {Schemas["Assignments"]} Assignments
 * @typedef {Schemas["StatementsPage"]} Statements
 */

/**
 * @typedef {Omit<Schemas["CalibrationBody"], "error"> & { error: ProblemDetails | null }} Calibration
 * @typedef {Schemas["CalibrationResult"]} CalibrationResult
 * @typedef {Schemas["CurveBody"]} SelectiveCurve
 * @typedef {Schemas["CurveStep"]} CurveStep
 * @typedef {Schemas["SuspectBody"]} Suspect a row whose label looks wrong
 * @typedef {Schemas["PairBody"]} PairNeed two classes, or subtrees, that need more data
 * @typedef {Omit<Schemas["DriftBody"], "error"> & { error: ProblemDetails | null }} Drift
 * @typedef {Schemas["DriftResult"]} DriftResult
 * @typedef {Schemas["MoveBody"]} DriftMove where something moved
 * @typedef {Omit<Schemas["NamingBody"], "error"> & { error: ProblemDetails | null }} Naming
 * @typedef {Schemas["UsageBody"]} Usage
 */

/**
 * @template T
 * @typedef {{ items: T[], next_cursor: string | null, count?: number | null }} Page
 */

/**
 * @typedef {{
 *   id: string,
 *   title: string,
 *   needs: string[],
 *   looks_at: string,
 *   better: "higher" | "lower" | null,
 *   definition: string,
 * }} Metric an entry of the page's own `metrics.json`
 */

/**
 * @typedef {{
 *   type?: string,
 *   description?: string,
 *   default?: unknown,
 *   enum?: unknown[],
 *   const?: unknown,
 *   minimum?: number,
 *   maximum?: number,
 *   exclusiveMinimum?: number,
 *   exclusiveMaximum?: number,
 *   minItems?: number,
 *   maxItems?: number,
 *   pattern?: string,
 *   items?: Schema,
 *   anyOf?: Schema[],
 *   oneOf?: Schema[],
 *   allOf?: Schema[],
 *   $ref?: string,
 *   discriminator?: { mapping: Record<string, string> },
 *   properties?: Record<string, Schema>,
 * }} Schema what the page reads of JSON Schema
 * @typedef {{
 *   properties?: Record<string, Schema>,
 *   required?: string[],
 *   $defs?: Record<string, Schema>,
 *   description?: string,
 * }} ObjectSchema
 */

export {};
