export {
  INPUT_MODES,
  DEFAULT_CONFIRMATION_SECONDS,
  DEFAULT_POLICY,
  ON_INTERRUPT,
  SESSION_STRATEGIES,
} from './agent.js';
export type {
  InputMode,
  BackendChoice,
  RouteCondition,
  Route,
  AgentPolicy,
  Budgets,
  SessionStrategy,
  ConfirmationSeconds,
  AgentDeclaration,
  ChatManner,
  OnInterrupt,
} from './agent.js';
export { decideAnswer, DENIAL, namesNothing, toTaskAnswer } from './answer.js';
export type {
  AnswerRequest,
  ArgumentsCheck,
  DecisionRequest,
  ItemAnswer,
  PendingItem,
  ResultRequest,
  TaskAnswer,
} from './answer.js';
export type { AuditEntry } from './audit-entry.js';
export type { AuditPruning } from './audit-pruning.js';
export { AUDIT_FIELDS } from './audit-record.js';
export type { AuditField, AuditHead, AuditRecord, StoredHead } from './audit-record.js';
export { CALLER_CONVERSATION } from './caller-conversation.js';
export type { CallerCall, CallerConversation, CallerMessage } from './caller-conversation.js';
export { canonicalJson } from './canonical-json.js';
export {
  DELIVERY_ERRORS,
  judgeAttempt,
  MAX_RETRY_AFTER_MS,
  outcomeOfStatus,
  parseRetryAfter,
} from './delivery-outcome.js';
export type { AttemptOutcome, DeliveryError, DeliveryVerdict } from './delivery-outcome.js';
export {
  ENVELOPE_VERSION,
  ENVELOPE_MAX_BYTES,
  PAYLOAD_MAX_BYTES,
  encodeEnvelope,
  encodeFrame,
  encodeFrames,
  encodeHeartbeat,
  envelopeOf,
  isShownAt,
  parseDetail,
} from './envelope.js';
export type { Frame, LoggedEvent, LoggedEventOf, StoredEvent } from './envelope.js';
export {
  ERRORS,
  DomainError,
  faulty,
  isDomainError,
  UnavailableError,
  isUnavailableError,
  FAILURES,
} from './errors.js';
export type { ErrorCode, Fault, ErrorDetails, FailureCode } from './errors.js';
export { DETAILS, EVENTS, isEventType, PLATFORM_FIELDS, TERMINAL_EVENTS, isTerminalEvent } from './event-table.js';
export type {
  Detail,
  FieldTypes,
  ErrorBody,
  ArtifactBody,
  ConfirmationBody,
  ResultBody,
  UsageBody,
  FieldKind,
  FieldSpec,
  EventSpec,
  EventType,
  Payload,
  EventBody,
} from './event-table.js';
export { admitsMediaType, FILE_MODES, filePartsOf, isFileMode, isTextual, withTexts } from './input-parts.js';
export type { FileMode, FilePart, PlacedPart } from './input-parts.js';
export { pointerOf, pointerTo, valueAt } from './json-pointer.js';
export { isName } from './name.js';
export { isArtifactId, isEventId, isTaskId } from './ids.js';
export { applyMergePatch } from './merge-patch.js';
export type { Branded, TaskKey, TaskId, EventId, ArtifactId } from './ids.js';
export type { LimitStanding, LimitUnit } from './limit.js';
export { LeaseKeeper } from './ports/lease-keeper.js';
export type { HeldRun, CancelledRun } from './ports/lease-keeper.js';
export { foldEvents } from './patch.js';
export type { TaskPatch, StepPatch, ConfirmationPatch, ConfirmationClose } from './patch.js';
export { AuditLedger } from './ports/audit-ledger.js';
export type { DueRecords, Seal, SealSession, TreeNode, TreeSource } from './ports/audit-ledger.js';
export { AuditPruningLedger } from './ports/audit-pruning-ledger.js';
export type { DuePruning } from './ports/audit-pruning-ledger.js';
export { AuditReader } from './ports/audit-reader.js';
export type { AuditFilter, PlacedRecord, SealedLeaf } from './ports/audit-reader.js';
export { AuditTrail } from './ports/audit-trail.js';
export { AgentStore } from './ports/agent-store.js';
export type { StoredAgent, AgentRecord, AgentEdit, AgentFileEntry, BackendVersion } from './ports/agent-store.js';
export { BlobStore, CorruptBlobError } from './ports/blob-store.js';
export type { BlobReference, BlobRange } from './ports/blob-store.js';
export { BlobRemovals } from './ports/blob-removals.js';
export type { BlobRemoval } from './ports/blob-removals.js';
export { DatabaseHealth } from './ports/database-health.js';
export type { DatabaseFault } from './ports/database-health.js';
export { DeliveryQueue } from './ports/delivery-queue.js';
export type { LaneJob } from './ports/delivery-queue.js';
export { DeliveryStore } from './ports/delivery-store.js';
export type {
  ClaimedDelivery,
  DeliveryOwner,
  DeliveryRecord,
  DueLane,
  RecordedAttempt,
  Settled,
} from './ports/delivery-store.js';
export { EventBus } from './ports/event-bus.js';
export type { TaskNews, Unsubscribe } from './ports/event-bus.js';
export { EventLog } from './ports/event-log.js';
export type {
  EventDraft,
  RunGuard,
  ControlGuard,
  Append,
  CallRecord,
  SessionEnd,
  DispatchReason,
  Dispatch,
  Appended,
  EventReference,
  EventPlace,
  PageLimits,
  Tail,
} from './ports/event-log.js';
export { claimAt, DEFAULT_CEILING, subjectOfClaims, TOKEN_ALGORITHMS } from './issuer.js';
export type { ClaimMapping, ClaimPath, Claims, Issuer, TokenAlgorithm, TokenSubject } from './issuer.js';
export { isUnbelievable, TokenVerifier, UnbelievableToken } from './ports/token-verifier.js';
export type { VerifiedToken } from './ports/token-verifier.js';
export { KeyStore, keyStateOf, MAX_LIVE_SECRETS } from './ports/key-store.js';
export type { KeyFilter, KeyRecord, NewKey, RetiringSecret, Rotation } from './ports/key-store.js';
export { Logger } from './ports/logger.js';
export type { LogFields } from './ports/logger.js';
export { Metrics, NO_METRICS } from './ports/metrics.js';
export type { Reading } from './ports/metrics.js';
export { METRICS } from './metrics.js';
export type { MetricLabels, MetricName, MetricOf, MetricSpec } from './metrics.js';
export { OUTBOUND_PURPOSES, OutboundClient, OutboundError, isOutboundError } from './ports/outbound.js';
export type {
  OutboundErrorCode,
  OutboundLimits,
  OutboundPurpose,
  OutboundRequest,
  OutboundResponse,
} from './ports/outbound.js';
export { RunConsumer, RunQueue } from './ports/run-queue.js';
export type { ConsumeOptions } from './ports/run-queue.js';
export { RunCalls } from './ports/run-calls.js';
export type { CallRequest, CallReservation, CallTerms, RunStanding } from './ports/run-calls.js';
export { RunStore } from './ports/run-store.js';
export type {
  RunJob,
  ClaimRequest,
  AskedCall,
  Claim,
  RunPolicy,
  LostRun,
  DueJob,
  DueTask,
  ExpiredHold,
  ExpiredWait,
} from './ports/run-store.js';
export { isSecretName, REDACTED, redactFields, redactSecrets, redactValue } from './redaction.js';
export { mayHoldSecret, openSecretAt, SECRET_LEAD } from './secret-hints.js';
export { Retention } from './ports/retention.js';
export { TaskRecords } from './ports/task-records.js';
export type { NumberedPage, PageWindow, RecordLimits, TaskRecord } from './ports/task-records.js';
export { SecretStore } from './ports/secret-store.js';
export { TASK_TOKEN_SCOPES, TaskTokens } from './ports/task-tokens.js';
export type {
  JsonWebKeySet,
  MintedToken,
  TaskGrant,
  TaskTokenScope,
  TokenRun,
  TokenTerms,
} from './ports/task-tokens.js';
export { SessionStore } from './ports/session-store.js';
export type { OvertakenTask, SessionTurns } from './ports/session-store.js';
export { TaskStore } from './ports/task-store.js';
export type {
  TaskScope,
  Submission,
  SubmitOutcome,
  CreatedOutcome,
  SubmissionKeys,
  TaskSnapshot,
  AskedTask,
  RecordedDecision,
  SeenState,
  TaskRequest,
  StateListFilter,
  CountedPage,
  TaskFilter,
  Page,
  PageRequest,
  ArtifactRecord,
} from './ports/task-store.js';
export { ThreadStore } from './ports/thread-store.js';
export type { NewThreadRun, Thread, ThreadName, ThreadReservation, ThreadRun } from './ports/thread-store.js';
export { UsageStore } from './ports/usage-store.js';
export type { GatewayUsage, OpenTasks, OpenUse, UsagePeriod } from './ports/usage-store.js';
export { PushConfigStore } from './ports/push-config-store.js';
export type { PushConfig, PushConfigWrite, PushCredentials } from './ports/push-config-store.js';
export { WebhookStore } from './ports/webhook-store.js';
export type {
  CallbackOwner,
  SealedSecret,
  SecretChange,
  WebhookRecord,
  WebhookSettings,
  WebhookStop,
} from './ports/webhook-store.js';
export { ToolStore } from './ports/tool-store.js';
export type {
  ListedTool,
  Observation,
  StoredTool,
  ToolEdit,
  ToolOffer,
  ToolOrigin,
  ToolState,
} from './ports/tool-store.js';
export { UploadStore } from './ports/upload-store.js';
export type { Upload } from './ports/upload-store.js';
export { UNPROJECTED_COLUMNS, applyPatch } from './projection.js';
export type { TaskProjection, StepProjection, ConfirmationProjection, Projection } from './projection.js';
export { routeTask, isVisibleTo, weightSeed, pointOf, chooseBackend, backendOf, clashesOf } from './routing.js';
export type { RoutingRequest, Routed, Weighed, Clash } from './routing.js';
export { SCOPES, isScope } from './scopes.js';
export type { Scope } from './scopes.js';
export { TASK_STATES, statusOf, isTerminal, STEP_STATES } from './state.js';
export type { TaskState, TaskStatus, StepState } from './state.js';
export { runtimeChannel, encodeRunSignal, decodeRunSignal } from './signals.js';
export type { RunSignal } from './signals.js';
export {
  EVERY_TOOL,
  outlookOn,
  rulesFor,
  TOOL_DENIALS,
  TOOL_VERDICTS,
  ToolError,
  unknownTools,
} from './tool-policy.js';
export type {
  ToolDenial,
  ToolErrorCode,
  ToolLimits,
  ToolPolicy,
  ToolRule,
  ToolRules,
  ToolVerdict,
} from './tool-policy.js';
export { toolsOn, effectiveTools, CLIENT_TOOL_MODES } from './tool-wishes.js';
export type { ClientTool, ClientToolMode, ToolWishes } from './tool-wishes.js';
export { TransitionError, statesBefore, transition, isStepEvent, stepTransition } from './transition.js';
export type { StepEventType } from './transition.js';
export { encodeNotice, encodeTestNotice, isWebhookId, PUSH_EVENTS, WEBHOOK_EVENTS } from './webhook.js';
export type { NoticeFacts, WebhookEvent } from './webhook.js';
