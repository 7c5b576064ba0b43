package alerts

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/jobs/wording"
)

// notification is a delivery in the form that its receiver gets.
type notification struct {
	work alerting.Work
	// link is the page of the dashboard about the alert; empty without a dashboard.
	link string
	// command is a command line that shows more about the alert.
	command string
}

// notification returns the notification of a delivery.
func (s *Service) notification(w alerting.Work) notification {
	n := notification{work: w, command: "jobagent alert list"}
	path := "/alerts"
	switch {
	case w.AlertID == 0 && w.Event == "": // a test
	case w.JobExecutionID != uuid.Nil:
		path = "/runs/" + w.JobExecutionID.String()
		n.command = "jobagent execution errors " + w.JobExecutionID.String()
	default:
		n.command = "jobagent alert show " + strconv.FormatInt(w.AlertID, 10)
	}
	if s.cfg.Pages != "" {
		n.link = s.cfg.Pages + path
	}
	return n
}

// Bounds of texts, in characters. Those for chats are below Slack's limits: 150 for a header, and
// 3,000 for a block.
const (
	maxHeading = 150
	maxBlock   = 2800
	maxMessage = 8000
)

// payload is the notification as JSON: the value of $(payload), and the default body. For an event,
// it is the event.
func (n notification) payload() (string, error) {
	w := n.work
	if w.Event != "" {
		return w.Event, nil
	}
	members := map[string]any{
		"type": "alert." + strings.ToLower(w.Kind), "timestamp": stamp(w.CreatedAt), "notification_id": w.NotificationID,
		"title": w.Title, "message": wording.Clip(w.Message, maxMessage, wording.Characters), "occurrences": w.Occurrences, "last_time": stamp(w.LastAt),
	}
	if w.AlertID != 0 {
		members["alert_id"], members["alert_name"], members["condition"] = w.AlertID, w.Rule, w.Condition
		members["severity"], members["first_time"] = w.Severity, stamp(w.FirstAt)
		members["subject_kind"], members["subject"] = w.SubjectKind, w.Subject
	}
	for name, text := range map[string]string{"job_name": w.JobName, "link": n.link, "command": n.command} {
		if text != "" {
			members[name] = text
		}
	}
	for name, id := range map[string]uuid.UUID{"job_id": w.JobID, "job_execution_id": w.JobExecutionID, "agent_id": w.AgentID} {
		if id != uuid.Nil {
			members[name] = id
		}
	}
	if w.Schedule != nil {
		members["schedule_name"] = *w.Schedule
	}
	if w.FailedServer != "" {
		failed := map[string]any{"server": w.FailedServer, "message": w.FailedMessage}
		if w.FailedDatabase != "" {
			failed["database"] = w.FailedDatabase
		}
		if w.FailedError != 0 {
			failed["error_number"] = w.FailedError
		}
		members["failed_target"] = failed
	}
	text, err := json.Marshal(members)
	if err != nil {
		return "", fmt.Errorf("write the notification: %w", err)
	}
	return string(text), nil
}

// stamp formats a time as in JSON; empty for the zero time.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// subject is the notification in one line.
func (n notification) subject() string {
	prefix := ""
	if n.work.Severity != "" {
		prefix = "[" + n.work.Severity + "] "
	}
	return prefix + clean(n.work.Title)
}

// fact is a name with a value.
type fact struct{ Name, Value string }

// facts are the subject, the place, the time and the number of an alert.
func (n notification) facts() (list []fact) {
	w := n.work
	add := func(name, value string) {
		if value != "" {
			list = append(list, fact{name, wording.Clip(strings.ReplaceAll(clean(value), "\n", " "), maxHeading, wording.Characters)})
		}
	}
	add("Alert", w.Rule)
	add("Severity", w.Severity)
	add("About", w.Subject)
	add("Since", stamp(w.FirstAt))
	if w.Occurrences > 1 {
		add("Latest", stamp(w.LastAt))
		add("Events", strconv.FormatInt(w.Occurrences, 10))
	}
	if w.FailedServer != "" {
		add("Failed on", strings.TrimSuffix(w.FailedServer+"/"+w.FailedDatabase, "/"))
		add("Error", w.FailedMessage)
	}
	return list
}

// text is the notification as plain text.
func (n notification) text() string {
	var b strings.Builder
	b.WriteString(clean(n.work.Title) + "\n\n" + clean(wording.Clip(n.work.Message, maxMessage, wording.Characters)) + "\n\n")
	for _, f := range n.facts() {
		b.WriteString(f.Name + ": " + f.Value + "\n")
	}
	if n.link != "" {
		b.WriteString("\n" + n.link + "\n")
	}
	b.WriteString("\n" + n.command + "\n")
	if n.work.AlertID != 0 {
		b.WriteString("jobagent alert ack " + strconv.FormatInt(n.work.AlertID, 10) + "\n")
	}
	return b.String()
}

//go:embed mail.html
var mailHTML string

// mailTemplate escapes the inserted values.
var mailTemplate = template.Must(template.New("mail").Parse(mailHTML))

// html is the notification as HTML.
func (n notification) html() (string, error) {
	var b bytes.Buffer
	err := mailTemplate.Execute(&b, map[string]any{
		"Title": clean(n.work.Title), "Message": clean(wording.Clip(n.work.Message, maxMessage, wording.Characters)), "Facts": n.facts(), "Link": n.link,
		"Command": n.command, "Alert": n.work.AlertID,
	})
	if err != nil {
		return "", fmt.Errorf("write the e-mail: %w", err)
	}
	return b.String(), nil
}

// slackText escapes a text for Slack
// (https://docs.slack.dev/messaging/formatting-message-text#escaping).
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slack is the body of a request to an incoming webhook of Slack.
func (n notification) slack() ([]byte, error) {
	var facts []string
	for _, f := range n.facts() {
		facts = append(facts, f.Name+": "+f.Value)
	}
	commands := n.command
	if n.work.AlertID != 0 {
		commands += "\njobagent alert ack " + strconv.FormatInt(n.work.AlertID, 10)
	}
	// Texts of the type plain_text are not interpreted, so that a name cannot become a link or a
	// mention.
	plain := func(text string, most int) map[string]any {
		return map[string]any{"type": "plain_text", "text": wording.Clip(text, most, wording.Characters), "emoji": false}
	}
	blocks := []any{
		map[string]any{"type": "header", "text": plain(n.subject(), maxHeading)},
		map[string]any{"type": "section", "text": plain(clean(n.work.Message)+"\n", maxBlock)},
		map[string]any{"type": "context", "elements": []any{plain(strings.Join(facts, " · ")+" ", maxBlock)}},
		map[string]any{"type": "context", "elements": []any{plain(commands, maxBlock)}},
	}
	if n.link != "" {
		blocks = append(blocks, map[string]any{"type": "section", "text": map[string]any{
			"type": "mrkdwn", "text": "<" + slackText.Replace(n.link) + "|Open the dashboard>",
		}})
	}
	return json.Marshal(map[string]any{"text": slackText.Replace(wording.Clip(n.subject(), maxBlock, wording.Characters)), "blocks": blocks})
}

// teamsText escapes a text for the Markdown of Adaptive Cards.
var teamsText = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `&lt;`, `>`, `&gt;`, `#`, `\#`, "\n", "\n\n")

// teams is the body of a request to a workflow of Teams that posts an Adaptive Card.
func (n notification) teams() ([]byte, error) {
	var facts []any
	for _, f := range n.facts() {
		facts = append(facts, map[string]any{"title": f.Name, "value": teamsText.Replace(f.Value)})
	}
	color := map[string]string{"Critical": "Attention", "Warning": "Warning"}[n.work.Severity]
	if color == "" || n.work.Kind == "Resolved" {
		color = "Default"
	}
	block := func(text string, more map[string]any) map[string]any {
		b := map[string]any{"type": "TextBlock", "text": teamsText.Replace(text), "wrap": true}
		for k, v := range more {
			b[k] = v
		}
		return b
	}
	card := map[string]any{
		"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
		"body": []any{
			block(wording.Clip(n.subject(), 2*maxHeading, wording.Characters), map[string]any{"weight": "Bolder", "size": "Medium", "color": color}),
			block(wording.Clip(clean(n.work.Message), maxBlock, wording.Characters), nil),
			map[string]any{"type": "FactSet", "facts": facts},
			block(n.command, map[string]any{"fontType": "Monospace", "isSubtle": true}),
		},
	}
	if n.link != "" {
		card["actions"] = []any{map[string]any{"type": "Action.OpenUrl", "title": "Open the dashboard", "url": n.link}}
	}
	return json.Marshal(map[string]any{"type": "message", "attachments": []any{
		map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card},
	}})
}

// clean makes control characters other than line feeds visible, and removes bidirectional
// formatting, so that a name cannot change the order of the text around it.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r == '\r', unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r):
			return '\uFFFD'
		}
		return r
	}, text)
}
