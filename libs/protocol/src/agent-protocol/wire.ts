/** Any JSON object. */
export type FreeObject = Readonly<Record<string, unknown>>;

/** `Artifact` of the schema. */
export interface Artifact {
  readonly artifact_id: string;
  readonly agent_created: boolean;
  readonly file_name: string;
  readonly relative_path: string | null;
}

/** `Task` of the schema; what may be left out is there, since some clients need it. */
export interface Task {
  readonly task_id: string;
  readonly input: string | null;
  readonly additional_input: FreeObject;
  readonly artifacts: readonly Artifact[];
}

/** The words of the schema for a step. */
export type StepStatus = 'created' | 'running' | 'completed';
/** Those that step-stream has besides, for the last step only. */
export type StreamedStatus = StepStatus | 'failed' | 'cancelled';

/** `Step` of the schema, or of a frame of step-stream. */
export interface Step<Status extends StreamedStatus = StreamedStatus> {
  readonly task_id: string;
  readonly step_id: string;
  readonly name: string | null;
  readonly status: Status;
  readonly input: string | null;
  readonly additional_input: FreeObject;
  readonly output: string | null;
  readonly additional_output: FreeObject | null;
  readonly artifacts: readonly Artifact[];
  readonly is_last: boolean;
}

/** `Pagination` of the schema. */
export interface Pagination {
  readonly total_items: number;
  readonly total_pages: number;
  readonly current_page: number;
  readonly page_size: number;
}
