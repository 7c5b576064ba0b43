package agent_test

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/queue"
	"github.com/jobagent/jobagent/testenv/invariant"
)

// signatureOfTests is the signature in the token of these tests, and tokenOfTests the token.
const (
	signatureOfTests = "c2lnbmF0dXJlLW9mLXRoZS10ZXN0cw=="
	tokenOfTests     = "sv=2019-02-02&sp=a&sig=c2lnbmF0dXJlLW9mLXRoZS10ZXN0cw%3D%3D"
)

// withQueues lets an agent put messages on queues, whose services are the endpoint.
func (f *actionFixture) withQueues(t *testing.T) func(*agent.Actions) {
	t.Helper()
	network, err := outbound.New(f.endpoint.Config())
	require.NoError(t, err)
	return func(a *agent.Actions) {
		a.Runners[action.TypeStorageQueue] = queue.NewRunner(queue.Config{Network: network})
		a.Secret = func(context.Context, string) (action.Value, error) { return action.Secret(tokenOfTests), nil }
	}
}

// storageStep makes a step one that puts messages on a Storage queue.
func storageStep(s *model.StepSpec) { s.CommandType = ptr(string(action.TypeStorageQueue)) }

// textOf returns the text in the body of a put-message request.
func textOf(t *testing.T, body string) string {
	t.Helper()
	var document struct {
		XMLName xml.Name `xml:"QueueMessage"`
		Text    string   `xml:"MessageText"`
	}
	require.NoError(t, xml.Unmarshal([]byte(body), &document))
	return document.Text
}

// Case 116 by a schedule: the message has the envelope of Azure Scheduler, with the job's name and
// the due instant. The signature is in no table.
func TestScheduledStorageMessage(t *testing.T) {
	actionBubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		// The service repeats the signature.
		_, _ = io.WriteString(w, "<QueueMessagesList><QueueMessage><MessageId>id-1 "+r.URL.Query().Get("sig")+"</MessageId></QueueMessage></QueueMessagesList>")
	}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, f.withQueues(t))
		f.addAction(t, "nightly", "", `{"account": "http://store.example.com/account", "queue": "jobs", "message": "hi", "sas_token": "$(secret.sas)",
			"encoding": "base64", "envelope": "azure-scheduler", "envelope_collection": "jc1", "allow_http": true}`, storageStep)
		f.every(t, "nightly", 15)
		var due time.Time
		for due.IsZero() {
			<-time.After(time.Second)
			require.NoError(t, f.DB(t, f.Control).QueryRowContext(t.Context(),
				"SELECT COALESCE(MIN(due_at), '0001-01-01') FROM jobs_internal.job_executions").Scan(&due))
		}
		executions, err := executions.On(f.Store).List(t.Context(), executions.Query{}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		id := executions[0].ID
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[len(rows)-1].LastMessage)
		require.Equal(t, "store.example.com", rows[2].Place())

		request := f.endpoint.Requests()[0]
		require.Equal(t, "/account/jobs/messages?"+tokenOfTests, request.Path)
		raw, err := base64.StdEncoding.DecodeString(textOf(t, request.Body))
		require.NoError(t, err)
		_, document, _ := strings.Cut(string(raw), "?>")
		var message struct {
			XMLName                                                                                xml.Name `xml:"StorageQueueMessage"`
			ExecutionTag, ExpectedExecutionTime, SchedulerJobID, SchedulerJobCollectionID, Message string
		}
		document = strings.NewReplacer("SchedulerJobId", "SchedulerJobID", "SchedulerJobCollectionId", "SchedulerJobCollectionID").Replace(document)
		require.NoError(t, xml.Unmarshal([]byte(document), &message))
		require.Equal(t, "nightly", message.SchedulerJobID)
		require.Equal(t, "jc1", message.SchedulerJobCollectionID)
		require.Equal(t, "hi", message.Message)
		require.Equal(t, due.UTC().Format("2006-01-02T15:04:05"), message.ExpectedExecutionTime)
		require.Equal(t, strings.ReplaceAll(id.String(), "-", ""), message.ExecutionTag)

		require.Contains(t, f.messages(t, id, targets.KindResponse)[0], "MessageId: id-1 ***")
		found, err := invariant.FindSecrets(t.Context(), f.DB(t, f.Control), []string{signatureOfTests, tokenOfTests})
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

// Case 100 of Azure's interface: an imported job puts its message on the queue with the token, in
// the envelope of Azure Scheduler. The token is in no table.
func TestArmCase100(t *testing.T) {
	actionBubble(t, 0, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, f.withQueues(t), func(a *agent.Actions) {
			a.Secret = func(context.Context, string) (action.Value, error) { return action.Secret("sig=tok-of-the-case"), nil }
		})
		r, err := importer.AzureScheduler([]byte(`{"name": "jc1/q1", "properties": {"state": "Disabled", "action": {"type": "storageQueue",
			"queueMessage": {"storageAccount": "store", "queueName": "queue", "sasToken": "sig=tok-of-the-case", "message": "hi"}}}}`),
			importer.Options{Now: time.Now()})
		require.NoError(t, err)
		require.NotContains(t, r.Script(), "tok-of-the-case")
		// The endpoint speaks plain HTTP.
		const account = `"account":"store"`
		require.Contains(t, r.Script(), account)
		script := strings.ReplaceAll(r.Script(), account, `"account":"http://store.example.com/account","allow_http":true`)
		for batch := range strings.SplitSeq(script, "\nGO\n") {
			if strings.TrimSpace(batch) != "" {
				f.exec(t, f.Control, batch)
			}
		}
		rows := f.ended(t, f.Start(t, "q1"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[len(rows)-1].LastMessage)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 1)
		require.Equal(t, "POST /account/queue/messages?sig=tok-of-the-case", requests[0].Method+" "+requests[0].Path)
		raw, err := base64.StdEncoding.DecodeString(textOf(t, requests[0].Body))
		require.NoError(t, err)
		_, document, _ := strings.Cut(string(raw), "?>")
		var message struct {
			XMLName    xml.Name `xml:"StorageQueueMessage"`
			Job        string   `xml:"SchedulerJobId"`
			Collection string   `xml:"SchedulerJobCollectionId"`
			Message    string
		}
		require.NoError(t, xml.Unmarshal([]byte(document), &message))
		require.Equal(t, []string{"q1", "jc1", "hi"}, []string{message.Job, message.Collection, message.Message})
		found, err := invariant.FindSecrets(t.Context(), f.DB(t, f.Control), []string{"tok-of-the-case"})
		require.NoError(t, err)
		require.Empty(t, found)
	})
}

// Attempts after a busy service and after a lost answer carry the same key. A queue that refuses
// the request is not asked again.
func TestStorageMessageIsRetried(t *testing.T) {
	var tries atomic.Int32
	actionBubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/account/refusing/"):
			w.WriteHeader(http.StatusConflict)
		case tries.Add(1) == 1:
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusServiceUnavailable)
		case tries.Load() == 2:
			panic(http.ErrAbortHandler) // no answer: the outcome is unknown
		default:
			w.WriteHeader(http.StatusCreated)
		}
	}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{}, f.withQueues(t))
		for _, name := range []string{"jobs", "refusing"} {
			f.addAction(t, name, "", `{"account": "http://store.example.com/account", "queue": "`+name+`", "message": {"n": 1}, "key_property": "key",
				"sas_token": "$(secret.sas)", "allow_http": true}`, storageStep, retries(5, 1), func(s *model.StepSpec) {
				s.MaximumRetryInterval = ptr(60)
			})
		}
		rows := f.ended(t, f.Start(t, "jobs"), 5*time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[2].LastMessage)
		require.Equal(t, 3, rows[2].Attempts)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 3)
		require.InDelta(t, 20, requests[1].At.Sub(requests[0].At).Seconds(), 1, "the service asked for it")
		require.Regexp(t, regexp.MustCompile(`^{"key":"[0-9a-f-]{36}","n": ?1}$`), textOf(t, requests[0].Body))
		for _, r := range requests[1:] {
			require.Equal(t, requests[0].Body, r.Body, "the key is the same in all attempts")
		}

		rows = f.ended(t, f.Start(t, "refusing"), 5*time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Equal(t, 1, rows[2].Attempts)
		require.Contains(t, rows[2].LastMessage, "409 Conflict")
	})
}
