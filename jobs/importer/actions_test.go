package importer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
)

// The examples in the documents of both systems come over whole: nothing is reported as lost, and
// every step has a valid command.
func TestDocumentedJobsAreNotLost(t *testing.T) {
	t.Parallel()
	for file, convert := range map[string]func([]byte, Options) (*Result, error){
		"azure_documented.json": AzureScheduler, "sap_documented.json": SAP,
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r, err := convert(read(t, file), Options{Now: now})
			require.NoError(t, err)
			noSecrets(t, r)
			for _, f := range r.Findings {
				require.NotEqual(t, Lost, f.Effect, f.String())
			}
			for _, j := range r.Jobs {
				for _, s := range j.Steps {
					command := s.Command
					if s.Proposal != "" {
						command = s.Proposal
					}
					d, err := action.Decode(s.Type, command)
					require.NoError(t, err, "%s: %s", j.Name, command)
					_, err = d.Server()
					require.NoError(t, err)
				}
			}
		})
	}
}

func TestDocumentedAzureJobs(t *testing.T) {
	t.Parallel()
	r, err := AzureScheduler(read(t, "azure_documented.json"), Options{Now: now})
	require.NoError(t, err)

	j := jobOf(t, r, "comprehensive")
	require.Equal(t, []Step{
		{Name: "MainAction", Type: action.TypeHTTP, Attempts: 0, Interval: 1, Timeout: 43200, Command: `{"method":"PUT","url":"http://contoso.com/some-method",` +
			`"headers":{"Content-Type":"application/json","x-ms-scheduler-jobcollectionid":"jc"},` +
			`"body":"Posting from a timer","success":"azure","allow_http":true}`},
		{Name: "ErrorAction", Type: action.TypeHTTP, Attempts: 0, Interval: 1, Timeout: 43200, After: []string{"MainAction"}, RunWhen: "Failed", Command: `{"method":"POST",` +
			`"url":"http://contoso.com/notifyError","headers":{"x-ms-scheduler-jobcollectionid":"jc"},` +
			`"success":"azure","allow_http":true}`},
	}, j.Steps, "the error action inherits the policy (R-38)")
	found(t, r, Changed, "comprehensive", "action.request.retryPolicy", "belongs into the action")

	require.Equal(t, `{"account":"mystorageaccount","queue":"myqueue","message":"My message body","sas_token":"$(secret.storage-sas)",`+
		`"encoding":"base64","envelope":"azure-scheduler","envelope_collection":"jc"}`,
		jobOf(t, r, "storage").Steps[0].Command)
	require.Equal(t, 4, jobOf(t, r, "storage").Steps[0].Attempts, "the default: 4 times after 30 s")
	require.Equal(t, 30, jobOf(t, r, "storage").Steps[0].Interval)
	require.Equal(t, `{"namespace":"mySBNamespace","queue":"q1","message":"Some message","key_name":"QPolicy","key":"$(secret.bus-queue-key)","properties":{"appname":"FromScheduler"}}`,
		jobOf(t, r, "bus queue").Steps[0].Command)
	require.Equal(t, action.TypeServiceBusTopic, jobOf(t, r, "bus topic").Steps[0].Type)
	require.Contains(t, jobOf(t, r, "certificate").Steps[0].Command, `"auth":{"kind":"client-certificate","certificate":"$(secret.certificate-certificate)"}`)
	require.Contains(t, jobOf(t, r, "oauth").Steps[0].Command, `"auth":{"kind":"oauth2-client-credentials","token_url":"https://login.microsoftonline.com/contoso.com/oauth2/v2.0/token",`+
		`"client_id":"dc23e764-9be6-4a33-9b9a-c46e36f0c137","client_secret":"$(secret.oauth-secret)","scope":"https://management.core.windows.net//.default"}`)

	script := r.Script()
	require.Contains(t, script, "    @after = N'MainAction',\n    @run_when = N'Failed';")
	require.NotContains(t, script, "@target_group_name")
}

// All properties of brokeredMessageProperties come over, and a property that HTTPS cannot
// carry makes the message one of AMQP.
func TestServiceBusProperties(t *testing.T) {
	t.Parallel()
	const job = `{"name": "j", "properties": {"startTime": "2026-01-01T00:00:00Z", "action": {"type": "serviceBusTopic", "serviceBusTopicMessage": {
		"topicPath": "orders", "namespace": "contoso", "transportType": "%s", "message": "m",
		"authentication": {"sasKeyName": "send", "sasKey": "hush", "type": "sharedAccessKey"},
		"brokeredMessageProperties": {"contentType": "text/plain", "correlationId": "c", "forcePersistence": true, "label": "l", "messageId": "i",
			"partitionKey": "s", "replyTo": "r", "replyToSessionId": "rs", "scheduledEnqueueTimeUtc": "2030-01-02T03:04:05Z", "sessionId": "s",
			"timeToLive": "PT1M30S", "to": "t", "viaPartitionKey": "v"},
		"customMessageProperties": {"app": "%s"}}}}}`
	for _, test := range []struct {
		transport, value string
		amqp             bool
	}{{"NetMessaging", "x", false}, {"NotSpecified", "x", false}, {"AMQP", "x", true}, {"NetMessaging", "Größe", true}} {
		r, err := AzureScheduler(fmt.Appendf(nil, job, test.transport, test.value), Options{Now: now})
		require.NoError(t, err)
		noSecrets(t, r)
		step := jobOf(t, r, "j").Steps[0]
		require.Equal(t, action.TypeServiceBusTopic, step.Type)
		d, err := action.Decode(step.Type, step.Command)
		require.NoError(t, err)
		require.Equal(t, &action.ServiceBus{
			Namespace: "contoso", Entity: "orders", Message: "m", ContentType: "text/plain", AMQP: test.amqp, KeyName: "send", Key: "$(secret.j-key)",
			Properties: []action.Property{{Name: "app", Value: test.value}},
			Broker: action.BrokerProperties{
				CorrelationID: "c", ForcePersistence: true, Label: "l", MessageID: "i", PartitionKey: "s", ReplyTo: "r", ReplyToSessionID: "rs",
				ScheduledEnqueueTime: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), SessionID: "s", TimeToLive: 90 * time.Second, To: "t",
				ViaPartitionKey: "v",
			},
		}, d.ServiceBus)
		require.Zero(t, r.Count(Lost))
		if test.value != "x" {
			found(t, r, Changed, "j", "action.serviceBusTopicMessage.customMessageProperties", "sent by AMQP")
		}
	}
}

func TestDocumentedSAPJobs(t *testing.T) {
	t.Parallel()
	r, err := SAP(read(t, "sap_documented.json"), Options{Now: now})
	require.NoError(t, err)
	require.Equal(t, `{"salesOrderId":"1234"}`, jobOf(t, r, "validateOrder").Schedules[0].Parameters)
	require.Equal(t, `{"salesOrderId":"1234"}`, jobOf(t, r, "validateOrder (2)").Schedules[0].Parameters, "data as a text")
	require.Equal(t, `{"method":"GET","url":"http://app.example.com/action","headers":{"Accept":"application/json"},"payload":"query","success":"sap",`+
		`"allow_http":true,"auth":{"kind":"basic","username":"abc","password":"$(secret.mysalesorderjob-password)"}}`, jobOf(t, r, "mySalesOrderJob").Steps[0].Command)
	found(t, r, ToSet, "mySalesOrderJob", "ansConfig.onError", "AlertOnError")

	task := jobOf(t, r, "nightlyTask").Steps[0]
	require.Equal(t, `{"entry":"nightlytask","max_memory_bytes":536870912}`, task.Command)
	require.Equal(t, action.TypeProcess, task.Type)
	found(t, r, ToSet, "nightlyTask", "action", `the process "nightlytask"`)

	script := r.Script()
	require.Contains(t, script, "EXEC jobs.sp_set_jobstep_options\n    @job_name = N'validateOrder',\n    @step_name = N'action',\n    @on_unknown_outcome = N'Await';")
	require.Contains(t, script, "    @parameters = N'{\"salesOrderId\":\"1234\"}';")
}

// Secrets in data become part of the action where all schedules have the same data.
func TestSAPDataWithSecrets(t *testing.T) {
	t.Parallel()
	const job = `{"name": "j", "action": "https://app.example.com/", "httpMethod": "%s", "schedules": [
		{"repeatAt": "2am", "data": {"apiKey": "hush", "list": [{"token": "hush"}], "text": "$(x)"}}, {"repeatAt": "3am", "data": {"apiKey": "hush", "list": [{"token": "hush"}], "text": "$(x)"}}]}`
	r, err := SAP([]byte(strings.Replace(job, "%s", "POST", 1)), Options{Now: now})
	require.NoError(t, err)
	noSecrets(t, r)
	j := jobOf(t, r, "j")
	require.Contains(t, j.Steps[0].Command, `"body":{"apiKey":"$(secret.j-data-apikey)","list":[{"token":"$(secret.j-data-token)"}],"text":"$$(x)"}`)
	require.Empty(t, j.Schedules[0].Parameters)
	require.Zero(t, r.Count(Lost))
}

// An action that the definition cannot hold is a comment, and the report says why.
func TestInvalidActionIsProposed(t *testing.T) {
	t.Parallel()
	r, err := AzureScheduler([]byte(`{"name": "j", "action": {"type": "http", "request": {"uri": "ftp://h/x?sig=hush", "method": "POST"},
		"errorAction": {"type": "http", "request": {"uri": "https://h/"}}}}`), Options{Now: now})
	require.NoError(t, err)
	noSecrets(t, r)
	steps := jobOf(t, r, "j").Steps
	require.Len(t, steps, 2)
	require.Empty(t, steps[0].Command)
	require.Empty(t, steps[1].Command, "nothing precedes it")
	found(t, r, Lost, "j", "action.request", "is not created: $.url: invalid URL")
	found(t, r, Lost, "j", "action.errorAction", "because its action is not")
	require.NotContains(t, r.Script(), "\nEXEC jobs.sp_add_jobstep")
}
