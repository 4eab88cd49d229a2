import { Log1764500000001 } from './0001-log.js';
import { Work1764500000002 } from './0002-work.js';
import { Trust1764500000003 } from './0003-trust.js';
import { Role1764500000004 } from './0004-role.js';
import { Answers1764500000005 } from './0005-answers.js';
import { SubmittedTools1764500000007 } from './0007-submitted-tools.js';
import { Sessions1764500000008 } from './0008-sessions.js';
import { Life1764500000009 } from './0009-life.js';
import { Artifacts1764500000010 } from './0010-artifacts.js';
import { AgentsAndRetention1764500000011 } from './0011-agents-and-retention.js';
import { Callers1764500000012 } from './0012-callers.js';
import { TokenCalls1764500000013 } from './0013-token-calls.js';
import { Approvals1764500000014 } from './0014-approvals.js';
import { Tools1764500000015 } from './0015-tools.js';
import { Webhooks1764500000017 } from './0017-webhooks.js';
import { AuditSeals1764500000018 } from './0018-audit-seals.js';
import { Limits1764500000019 } from './0019-limits.js';
import { SessionOwners1764500000020 } from './0020-session-owners.js';
import { ReadableVersions1764500000022 } from './0022-readable-versions.js';
import { AuditRetention1764500000023 } from './0023-audit-retention.js';
import { HeldTasks1764500000025 } from './0025-held-tasks.js';
import { PushConfigs1764500000026 } from './0026-push-configs.js';
import { Threads1764500000027 } from './0027-threads.js';
import { Watchers1764500000028 } from './0028-watchers.js';
import { ToldHeads1764500000029 } from './0029-told-heads.js';

/** In the order they are applied. */
export const MIGRATIONS = [
  Log1764500000001,
  Work1764500000002,
  Trust1764500000003,
  Role1764500000004,
  Answers1764500000005,
  SubmittedTools1764500000007,
  Sessions1764500000008,
  Life1764500000009,
  Artifacts1764500000010,
  AgentsAndRetention1764500000011,
  Callers1764500000012,
  TokenCalls1764500000013,
  Approvals1764500000014,
  Tools1764500000015,
  Webhooks1764500000017,
  AuditSeals1764500000018,
  Limits1764500000019,
  SessionOwners1764500000020,
  ReadableVersions1764500000022,
  AuditRetention1764500000023,
  HeldTasks1764500000025,
  PushConfigs1764500000026,
  Threads1764500000027,
  Watchers1764500000028,
  ToldHeads1764500000029,
];
