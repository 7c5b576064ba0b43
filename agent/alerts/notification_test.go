package alerts_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/alerting"
)

// Names and messages are data in each form: HTML, mentions, bidirectional and control characters,
// and 8,000 characters.
func TestForms(t *testing.T) {
	t.Parallel()
	store, err := controldb.New(controldb.Config{DSN: "sqlserver://u:p@127.0.0.1:1?database=d"})
	require.NoError(t, err)
	defer store.Close()
	s := alerts.New(alerts.Config{Store: store, Pages: "https://front.example/ui/main", Log: zap.NewNop()})
	name := "<script>alert(1)</script> \u202egnp.exe\u0000 <!channel> *x* [y](http://evil)"
	f, err := s.FormsOf(alerting.Work{
		ID: 1, NotificationID: uuid.New(), Kind: "Raised", Title: "Job '" + name + "' ended as Failed", Message: strings.Repeat(name+"\n", 200),
		Occurrences: 3, LastAt: time.Unix(1_800_000_000, 0), CreatedAt: time.Unix(1_800_000_000, 0), AlertID: 7, Rule: name,
		Condition: "RunEnded", Severity: "Critical", SubjectKind: "Job", Subject: name, JobName: name,
		JobID: uuid.New(), JobExecutionID: uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e"), FirstAt: time.Unix(1_800_000_000, 0),
		FailedServer: "s1", FailedDatabase: name, FailedError: 8114, FailedMessage: "Msg 8114: Error converting " + name,
	})
	require.NoError(t, err)
	var payload struct {
		Title, Message, Link string
		Type                 string
		Occurrences          int
		FailedTarget         struct {
			Server, Database, Message string
			ErrorNumber               int `json:"error_number"`
		} `json:"failed_target"`
	}
	require.NoError(t, json.Unmarshal([]byte(f.Payload), &payload))
	require.Equal(t, "Job '"+name+"' ended as Failed", payload.Title, "the data itself")
	require.Equal(t, "https://front.example/ui/main/runs/0f8fad5b-d9cb-469f-a165-70867728950e", payload.Link)
	require.LessOrEqual(t, len([]rune(payload.Message)), 8000)

	require.NotContains(t, f.HTML, "<script>")
	require.Contains(t, f.HTML, "&lt;script&gt;")
	require.Contains(t, f.Text, "jobagent execution errors 0f8fad5b-d9cb-469f-a165-70867728950e")
	require.Contains(t, f.Text, "jobagent alert ack 7")
	require.Contains(t, f.Text, "Events: 3")
	require.Equal(t, []any{"s1", name, 8114}, []any{payload.FailedTarget.Server, payload.FailedTarget.Database, payload.FailedTarget.ErrorNumber})
	require.Contains(t, f.Text, "Failed on: s1/<script>")
	require.Contains(t, f.Text, "Error: Msg 8114: Error converting")
	for _, text := range []string{f.Subject, f.Text, f.HTML, f.Slack, f.Teams} {
		require.NotContains(t, text, "\u202e")
		require.NotContains(t, text, "\x00")
	}

	var slack struct {
		Text   string
		Blocks []struct {
			Type string
			Text struct{ Type, Text string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(f.Slack), &slack))
	require.NotContains(t, slack.Text, "<!channel>")
	require.LessOrEqual(t, len([]rune(slack.Blocks[0].Text.Text)), 150)
	require.Equal(t, "plain_text", slack.Blocks[1].Text.Type)
	require.LessOrEqual(t, len([]rune(slack.Blocks[1].Text.Text)), 3000)

	var teams struct {
		Attachments []struct {
			ContentType string
			Content     struct {
				Version string
				Body    []struct{ Type, Text string }
				Actions []struct{ Type, URL string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(f.Teams), &teams))
	card := teams.Attachments[0].Content
	require.Equal(t, "1.4", card.Version)
	require.NotContains(t, card.Body[0].Text, "[y](http")
	require.Equal(t, payload.Link, card.Actions[0].URL)
	require.Less(t, len(f.Teams), 28<<10)
}

// Faults of definitions that only Go finds.
func TestCheck(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]string{
		`{"url": "http://h/"}`:                       "https",
		`{"url": "https://h/", "body": "$(nobody)"}`: "unknown variable",
	} {
		require.ErrorContains(t, alerts.Check("Http", definition), want)
	}
	require.ErrorContains(t, alerts.Check("Mail", `{"host": "h", "from": "a", "to": ["b@c"]}`), "invalid address")
	require.ErrorContains(t, alerts.Check("Mail", `{"host": "h", "from": "a@b", "to": ["b@c\r\nBcc: d@e"]}`), "control character")
	require.ErrorContains(t, alerts.Check("Mail", `{"host": "h", "from": "a@b", "to": ["b@c"], "username": "u", "password": "clear"}`), "clear text")
	require.NoError(t, alerts.Check("Mail", `{"host": "h", "from": "a@b", "to": ["b@c"], "username": "u", "password": "$(secret.P)"}`))
	require.NoError(t, alerts.Check("Teams", `{"url": "$(secret.T)"}`))
	require.NoError(t, alerts.Check("Http", `{"url": "https://h/", "body": {"text": "$(param.title)"}, "auth": {"kind": "standard-webhooks", "keys": ["$(secret.K)"]}}`))
	require.NoError(t, alerts.Check("StorageQueue", `{"account": "acct", "queue": "que", "sas_token": "$(secret.S)"}`))
}
