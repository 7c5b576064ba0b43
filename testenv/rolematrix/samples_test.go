package rolematrix

import (
	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/front"
)

// sample is a request of an operation that succeeds.
type sample struct {
	surface, operation string
	// path has a query, and <name> for values that samples before it kept.
	path, body string
	// keep names values of the answer by their place in it. The request is repeated as long as the
	// answer to an administrator lacks them: an agent is at work.
	keep map[string]string
	// status is what an answer without success has; 0 means that the request succeeds.
	status int
	// least is the least role of a request whose body needs more than its operation; its row comes
	// after the operation's, with the body.
	least rest.Role
}

const (
	a     = front.A
	query = front.Version
	c     = front.C
	cq    = front.SchedulerVersion
	run   = "10000000-0000-4000-8000-000000000001"
	// rollout is a roll-out of the job j2 that was aborted.
	rollout = "10000000-0000-4000-8000-000000000002"
)

// samples are in an order in which each one succeeds.
var samples = []sample{
	{"sql", "JobAgents_ListByServer", front.Servers + "/jobAgents" + query, "", nil, 0, 0},
	{"sql", "JobAgents_Get", a + query, "", nil, 0, 0},
	{"sql", "JobAgents_Update", a + query, `{"tags":{"k":"v"}}`, nil, 0, 0},
	{"sql", "JobAgents_CreateOrUpdate", a + query, `{"location":"onprem","sku":{"name":"JA100"},"properties":{"databaseId":"` + front.Servers + `/databases/jobdb1"}}`, nil, 0, 0},

	{"sql", "JobAgents_OperationStatus", front.Group + "/providers/Microsoft.Sql/locations/onprem/jobAgentAzureAsyncOperation/" + run + query, "", nil, 404, 0},
	{"sql", "JobAgents_OperationStatusBySubscription", "/subscriptions/" + front.Subscription + "/providers/Microsoft.Sql/locations/onprem/jobAgentAzureAsyncOperation/" + run + query, "", nil, 404, 0},
	{"sql", "JobAgents_OperationResult", front.Group + "/providers/Microsoft.Sql/locations/onprem/jobAgentOperationResults/" + run + query, "", nil, 404, 0},
	{"sql", "JobAgents_OperationResultBySubscription", "/subscriptions/" + front.Subscription + "/providers/Microsoft.Sql/locations/onprem/jobAgentOperationResults/" + run + query, "", nil, 404, 0},

	{"sql", "JobCredentials_CreateOrUpdate", a + "/credentials/c1" + query, `{"properties":{"username":"u","password":"p-secret-123"}}`, nil, 0, 0},
	{"sql", "JobCredentials_ListByAgent", a + "/credentials" + query, "", nil, 0, 0},
	{"sql", "JobCredentials_Get", a + "/credentials/c1" + query, "", nil, 0, 0},
	{"sql", "JobCredentials_Delete", a + "/credentials/c1" + query, "", nil, 0, 0},

	{"sql", "JobTargetGroups_CreateOrUpdate", a + "/targetGroups/gx" + query, `{"properties":{"members":[]}}`, nil, 0, 0},
	{"sql", "JobTargetGroups_ListByAgent", a + "/targetGroups" + query, "", nil, 0, 0},
	{"sql", "JobTargetGroups_Get", a + "/targetGroups/gx" + query, "", nil, 0, 0},
	{"sql", "JobTargetGroups_Delete", a + "/targetGroups/gx" + query, "", nil, 0, 0},

	{"sql", "Jobs_CreateOrUpdate", a + "/jobs/jx" + query, `{"properties":{}}`, nil, 0, 0},
	{"sql", "Jobs_ListByAgent", a + "/jobs" + query, "", nil, 0, 0},
	{"sql", "Jobs_Get", a + "/jobs/jx" + query, "", nil, 0, 0},
	{"sql", "JobSteps_CreateOrUpdate", a + "/jobs/jx/steps/sx" + query, `{"properties":{"targetGroup":"` + a + `/targetGroups/g1","action":{"value":"SELECT 1"}}}`, nil, 0, 0},
	{"sql", "JobSteps_ListByJob", a + "/jobs/jx/steps" + query, "", nil, 0, 0},
	{"sql", "JobSteps_Get", a + "/jobs/jx/steps/sx" + query, "", nil, 0, 0},
	{"sql", "JobSteps_ListByVersion", a + "/jobs/jx/versions/1/steps" + query, "", nil, 0, 0},
	{"sql", "JobSteps_GetByVersion", a + "/jobs/jx/versions/1/steps/sx" + query, "", nil, 0, 0},
	{"sql", "JobVersions_ListByJob", a + "/jobs/jx/versions" + query, "", nil, 0, 0},
	{"sql", "JobVersions_Get", a + "/jobs/jx/versions/1" + query, "", nil, 0, 0},
	{"sql", "JobSteps_Delete", a + "/jobs/jx/steps/sx" + query, "", nil, 0, 0},
	{"sql", "Jobs_Delete", a + "/jobs/jx" + query, "", nil, 0, 0},

	{"sql", "JobExecutions_CreateOrUpdate", a + "/jobs/j1/executions/" + run + query, "", nil, 0, 0},
	{"sql", "JobExecutions_Create", a + "/jobs/j1/start" + query, "", nil, 0, 0},
	{"sql", "JobExecutions_ListByAgent", a + "/executions" + query, "", nil, 0, 0},
	{"sql", "JobExecutions_ListByJob", a + "/jobs/j1/executions" + query, "", nil, 0, 0},
	{"sql", "JobExecutions_Get", a + "/jobs/j1/executions/" + run + query, "", nil, 0, 0},
	{"sql", "JobExecutions_OperationResult", a + "/jobs/j1/executions/" + run + "/operationResult" + query, "", nil, 0, 0},
	{"sql", "JobStepExecutions_ListByJobExecution", a + "/jobs/j1/executions/" + run + "/steps" + query, "", map[string]string{"step": "value.0.name"}, 0, 0},
	{"sql", "JobStepExecutions_Get", a + "/jobs/j1/executions/" + run + "/steps/s1" + query, "", nil, 0, 0},
	{"sql", "JobTargetExecutions_ListByJobExecution", a + "/jobs/j1/executions/" + run + "/targets" + query, "", map[string]string{"target": "value.0.name"}, 0, 0},
	{"sql", "JobTargetExecutions_ListByStep", a + "/jobs/j1/executions/" + run + "/steps/s1/targets" + query, "", nil, 0, 0},
	{"sql", "JobTargetExecutions_Get", a + "/jobs/j1/executions/" + run + "/steps/s1/targets/<target>" + query, "", nil, 0, 0},
	{"sql", "JobExecutions_Cancel", a + "/jobs/j1/executions/" + run + "/cancel" + query, "", nil, 0, 0},
	{"sql", "JobRollouts_ListByJob", a + "/jobs/j2/rollouts" + query, "", nil, 0, 0},
	{"sql", "JobRollouts_Get", a + "/jobs/j2/rollouts/" + rollout + query, "", nil, 0, 0},
	{"sql", "JobRollouts_ListTargets", a + "/jobs/j2/rollouts/" + rollout + "/targets" + query, "", nil, 0, 0},
	{"sql", "JobRollouts_Approve", a + "/jobs/j2/rollouts/" + rollout + "/approve" + query, "", nil, 400, 0},
	{"sql", "JobRollouts_Reject", a + "/jobs/j2/rollouts/" + rollout + "/reject" + query, `{"reason":"no"}`, nil, 400, 0},
	{"sql", "JobRollouts_Pause", a + "/jobs/j2/rollouts/" + rollout + "/pause" + query, "", nil, 400, 0},
	{"sql", "JobRollouts_Resume", a + "/jobs/j2/rollouts/" + rollout + "/resume" + query, "", nil, 400, 0},
	{"sql", "JobRollouts_Retry", a + "/jobs/j2/rollouts/" + rollout + "/retry" + query, "", nil, 400, 0},
	{"sql", "JobRollouts_Skip", a + "/jobs/j2/rollouts/" + rollout + "/skip" + query, "", nil, 400, 0},
	{"sql", "JobRollouts_Extend", a + "/jobs/j2/rollouts/" + rollout + "/extend" + query, `{"seconds":60}`, nil, 400, 0},
	{"sql", "JobRollouts_ExtendDeadline", a + "/jobs/j2/rollouts/" + rollout + "/extendDeadline" + query, `{"seconds":60}`, nil, 400, 0},
	{"sql", "JobRollouts_Undo", a + "/jobs/j2/rollouts/" + rollout + "/undo" + query, "", nil, 400, 0},
	{"sql", "JobRollouts_Abort", a + "/jobs/j2/rollouts/" + rollout + "/abort" + query, "", nil, 400, 0},

	{"sql", "JobTargetPauses_Create", a + "/targetPauses" + query, `{"properties":{"serverName":"away.example","databaseName":"d"}}`, map[string]string{"paused": "name"}, 0, 0},
	{"sql", "JobTargetPauses_ListByAgent", a + "/targetPauses" + query, "", nil, 0, 0},
	{"sql", "JobTargetPauses_Get", a + "/targetPauses/<paused>" + query, "", nil, 0, 0},
	{"sql", "JobTargetPauses_Delete", a + "/targetPauses/<paused>" + query, "", nil, 0, 0},
	{"sql", "JobQuestions_Create", a + "/questions" + query, `{"properties":{"targetGroupName":"g1","question":"SELECT 1"}}`, map[string]string{"question": "name"}, 0, 0},
	{"sql", "JobQuestions_ListByAgent", a + "/questions" + query, "", nil, 0, 0},
	{"sql", "JobQuestions_Get", a + "/questions/<question>" + query, "", nil, 0, 0},
	{"sql", "JobQuestionRows_ListByQuestion", a + "/questions/<question>/rows" + query, "", nil, 0, 0},
	{"sql", "JobQuestions_Cancel", a + "/questions/<question>/cancel" + query, "", nil, 0, 0},
	{"sql", "JobTargetWindows_ListByAgent", a + "/targetWindows" + query, "", nil, 0, 0},
	{"sql", "JobTargetWindows_CreateOrUpdate", a + "/targetWindows/w1" + query, `{"properties":{"calendarName":"nights","tagFilter":"tier = 'gold'"}}`, nil, 400, 0},
	{"sql", "JobTargetWindows_Get", a + "/targetWindows/w1" + query, "", nil, 404, 0},
	{"sql", "JobTargetWindows_Delete", a + "/targetWindows/w1" + query, "", nil, 0, 0},
	{"sql", "JobTriggers_CreateOrUpdate", a + "/jobs/j2/triggers/t1" + query, `{"properties":{"upstreamJobNames":["j1"]}}`, nil, 0, 0},
	{"sql", "JobTriggers_ListByJob", a + "/jobs/j2/triggers" + query, "", nil, 0, 0},
	{"sql", "JobTriggers_Get", a + "/jobs/j2/triggers/t1" + query, "", nil, 0, 0},
	{"sql", "JobTriggerEvents_ListByTrigger", a + "/jobs/j2/triggers/t1/events" + query, "", nil, 0, 0},
	{"sql", "JobTriggers_Delete", a + "/jobs/j2/triggers/t1" + query, "", nil, 0, 0},

	{"sql", "JobDriftHistory_ListByAgent", a + "/driftHistory" + query, "", nil, 0, 0},
	{"sql", "JobDriftHistory_ListByTargetGroup", a + "/targetGroups/g1/driftHistory" + query, "", nil, 0, 0},
	{"sql", "JobDriftHistory_ListByJob", a + "/jobs/j1/driftHistory" + query, "", nil, 0, 0},
	{"sql", "JobDriftHistory_Get", a + "/driftHistory/" + run + query, "", nil, 404, 0},
	{"sql", "JobDriftBaselines_CreateOrUpdate", a + "/driftBaselines/b1" + query, `{"properties":{"serverName":"away.example","databaseName":"d"}}`, nil, 400, 0},
	{"sql", "JobDriftBaselines_ListByAgent", a + "/driftBaselines" + query, "", nil, 0, 0},
	{"sql", "JobDriftBaselines_Get", a + "/driftBaselines/b1" + query, "", nil, 404, 0},
	{"sql", "JobDriftBaselines_Delete", a + "/driftBaselines/b1" + query, "", nil, 0, 0},

	{"sql", "JobPrivateEndpoints_CreateOrUpdate", a + "/privateEndpoints/p1" + query, `{"properties":{"targetServerAzureResourceId":"` + front.Servers + `"}}`, nil, 0, 0},
	{"sql", "JobPrivateEndpoints_ListByAgent", a + "/privateEndpoints" + query, "", nil, 0, 0},
	{"sql", "JobPrivateEndpoints_Get", a + "/privateEndpoints/p1" + query, "", nil, 0, 0},
	{"sql", "JobPrivateEndpoints_Delete", a + "/privateEndpoints/p1" + query, "", nil, 0, 0},

	{"scheduler", "JobCollections_CreateOrUpdate", c + "/jc1" + cq, `{"location":"onprem","properties":{"sku":{"name":"Standard"}}}`, nil, 0, 0},
	{"scheduler", "JobCollections_ListBySubscription", "/subscriptions/" + front.Subscription + "/providers/Microsoft.Scheduler/jobCollections" + cq, "", nil, 0, 0},
	{"scheduler", "JobCollections_ListByResourceGroup", c + cq, "", nil, 0, 0},
	{"scheduler", "JobCollections_Get", c + "/jc1" + cq, "", nil, 0, 0},
	{"scheduler", "Jobs_CreateOrUpdate", c + "/jc1/jobs/h1" + cq, `{"properties":{"startTime":"2020-01-01T00:00:00Z","action":{"type":"Https","request":{"method":"GET","uri":"https://app.example/x"}},"recurrence":{"frequency":"Day","interval":1}}}`, nil, 0, 0},
	{"scheduler", "Jobs_List", c + "/jc1/jobs" + cq, "", nil, 0, 0},
	{"scheduler", "Jobs_Get", c + "/jc1/jobs/h1" + cq, "", nil, 0, 0},
	{"scheduler", "Jobs_Patch", c + "/jc1/jobs/h1" + cq, `{"properties":{"state":"Enabled"}}`, nil, 0, 0},
	{"scheduler", "Jobs_Patch", c + "/jc1/jobs/h1" + cq, `{"properties":{"recurrence":{"interval":2}}}`, nil, 0, rest.RoleAuthor},
	{"scheduler", "Jobs_Run", c + "/jc1/jobs/h1/run" + cq, "", nil, 0, 0},
	{"scheduler", "Jobs_ListJobHistory", c + "/jc1/jobs/h1/history" + cq, "", nil, 0, 0},
	{"scheduler", "JobCollections_Disable", c + "/jc1/disable" + cq, "", nil, 0, 0},
	{"scheduler", "JobCollections_Enable", c + "/jc1/enable" + cq, "", nil, 0, 0},
	{"scheduler", "JobCollections_Patch", c + "/jc1" + cq, `{"properties":{"state":"Enabled"}}`, nil, 0, 0},
	{"scheduler", "JobCollections_Patch", c + "/jc1" + cq, `{"tags":{"k":"v"}}`, nil, 0, rest.RoleAdmin},
	{"scheduler", "Jobs_Delete", c + "/jc1/jobs/h1" + cq, "", nil, 0, 0},
	{"scheduler", "JobCollections_Delete", c + "/jc1" + cq, "", nil, 0, 0},

	{"sap", "Jobs_Create", "/scheduler/jobs", `{"name":"one","action":"https://app.example/x","active":true,"schedules":[{"time":"2090-01-01T00:00:00Z","active":true}]}`, map[string]string{"job": "_id"}, 0, 0},
	{"sap", "Jobs_List", "/scheduler/jobs", "", nil, 0, 0},
	{"sap", "Jobs_Get", "/scheduler/jobs/<job>", "", nil, 0, 0},
	{"sap", "Jobs_Put", "/scheduler/jobs/<job>", `{"description":"d"}`, nil, 0, 0},
	{"sap", "Schedules_Create", "/scheduler/jobs/<job>/schedules", `{"time":"2090-01-01T00:00:00Z","active":true}`, map[string]string{"schedule": "scheduleId"}, 0, 0},
	{"sap", "Schedules_List", "/scheduler/jobs/<job>/schedules", "", nil, 0, 0},
	{"sap", "Schedules_Get", "/scheduler/jobs/<job>/schedules/<schedule>", "", nil, 0, 0},
	{"sap", "Schedules_Update", "/scheduler/jobs/<job>/schedules/<schedule>", `{"description":"d"}`, nil, 0, 0},
	{"sap", "Schedules_Preview", "/scheduler/schedules/preview", `{"repeatInterval":"10 minutes"}`, nil, 0, 0},
	{"sap", "RunLogs_List", "/scheduler/jobs/<job>/schedules/<schedule>/runs", "", map[string]string{"run": "results.0.runId"}, 0, 0},
	{"sap", "RunLogs_Get", "/scheduler/jobs/<job>/schedules/<schedule>/runs/<run>", "", nil, 0, 0},
	{"sap", "RunLogs_Update", "/scheduler/jobs/<job>/schedules/<schedule>/runs/<run>", `{"success":true}`, nil, 400, 0},
	{"sap", "Schedules_Activate", "/scheduler/jobs/<job>/schedules/activationStatus", `{"activationStatus":false}`, nil, 0, 0},
	{"sap", "Jobs_Count", "/scheduler/jobCount", "", nil, 0, 0},
	{"sap", "GlobalParameters_Get", "/scheduler/globalParameters", "", nil, 0, 0},
	{"sap", "GlobalParameters_Update", "/scheduler/globalParameters", `{"ASYNC_EXEC_TIMEOUT":"600"}`, nil, 0, 0},
	{"sap", "Jobs_Search", "/scheduler/search/jobs?q=one", "", nil, 0, 0},
	{"sap", "Schedules_Search", "/scheduler/search/schedules?q=one", "", nil, 0, 0},
	{"sap", "ActionLogs_List", "/scheduler/actionLogs?jobId=<job>", "", nil, 0, 0},
	{"sap", "Schedules_Delete", "/scheduler/jobs/<job>/schedules/<schedule>", "", nil, 0, 0},
	{"sap", "Schedules_DeleteAll", "/scheduler/jobs/<job>/schedules", "", nil, 0, 0},
	{"sap", "Jobs_Delete", "/scheduler/jobs/<job>", "", nil, 0, 0},
	{"sap", "Subscriptions_Put", "/admin/tenants/t1/subscriptions/app", `{"subdomain":"t1"}`, nil, 0, 0},
	{"sap", "Tenants_List", "/admin/tenants", "", nil, 0, 0},
	{"sap", "Subscriptions_Delete", "/admin/tenants/t1/subscriptions/app", "", nil, 0, 0},

	{"sql", "JobAgents_Delete", a + query, "", nil, 0, 0},
}

// frontOnly are the operations that only the front refuses, because the control database's roles
// are wider: the reason is behind each.
var frontOnly = map[string]string{
	"sap Schedules_Preview": "the front computes the answer itself, from the request; it stores nothing",
	"sap Tenants_List":      "readers need the list, to issue tokens; the front shows it to administrators only",
}
