package definitions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/agent/web/code"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/wording"
)

// stepView is a step on a page.
type stepView struct {
	catalog.JobStep
	GroupHref string
	// EditHref is the form of the step; empty: the viewer may not change it.
	EditHref string
	// Options are those of the step in sentences or short texts.
	Options []option
	Script  script
	// Action reports whether the command is the definition of an action and no T-SQL.
	Action bool
}

// option is a property of a step: its name and value, as the diff of versions shows them.
type option struct {
	Name, Value string
	// Default means that the value is what a step has if nobody chose it.
	Default bool
}

// script is a script or definition with colours.
type script struct {
	HTML  template.HTML
	Lines int
	Bytes int
	// Clipped means that HTML has the beginning only. Download has all of it.
	Clipped  bool
	Download string
}

const (
	// clipBytes and clipLines are the most of a script that a page shows. A script may have 1 MB,
	// whose colours would make a page of 10 MB.
	clipBytes = 64 << 10
	clipLines = 1500
)

// stepViews returns the steps of a version for a page. prefix makes ids unique.
func stepViews(r *page.Request, steps []catalog.JobStep, prefix string) []stepView {
	list := make([]stepView, 0, len(steps))
	for _, s := range steps {
		v := stepView{JobStep: s, Options: stepOptions(s), Action: !strings.EqualFold(s.CommandType, string(action.TypeTSQL))}
		if s.TargetGroup != "" {
			v.GroupHref = r.Path("groups", s.TargetGroup)
		}
		id := prefix + "step-" + strconv.Itoa(s.StepID)
		v.Script = newScript(pretty(s), language(s), id, fmt.Sprintf("Script of step %d", s.StepID))
		v.Script.Download = page.With(r.Path("jobs", s.JobName, "versions", strconv.Itoa(s.JobVersion)), "step", strconv.Itoa(s.StepID))
		v.Script.Bytes = len(s.Command)
		list = append(list, v)
	}
	return list
}

// language returns the language of the command of a step.
func language(s catalog.JobStep) code.Language {
	if strings.EqualFold(s.CommandType, string(action.TypeTSQL)) {
		return code.TSQL
	}
	return code.JSON
}

// pretty returns the command of a step. The JSON of an action is indented.
func pretty(s catalog.JobStep) string {
	if language(s) != code.JSON {
		return s.Command
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(s.Command), "", "  ") != nil {
		return s.Command
	}
	return b.String()
}

// newScript clips a text and gives it colours.
func newScript(text string, in code.Language, id, label string) script {
	s := script{Lines: strings.Count(text, "\n") + 1}
	if len(text) > clipBytes {
		s.Clipped = true
		text = wording.Head(text, clipBytes, wording.Bytes)
	}
	if at := nthLine(text, clipLines); at >= 0 {
		text, s.Clipped = text[:at], true
	}
	s.HTML = code.Block{Language: in, Text: text, ID: id, Label: label}.HTML()
	return s
}

// nthLine returns the place of the n-th line feed; -1 if there are fewer.
func nthLine(text string, n int) int {
	at := -1
	for range n {
		next := strings.IndexByte(text[at+1:], '\n')
		if next < 0 {
			return -1
		}
		at += 1 + next
	}
	return at
}

// seconds returns a number of seconds in words: "12 hours", "11 minutes 39 seconds".
func seconds(n int) string {
	var parts []string
	for _, u := range []struct {
		size      int
		one, many string
	}{{86400, "day", "days"}, {3600, "hour", "hours"}, {60, "minute", "minutes"}, {1, "second", "seconds"}} {
		if n >= u.size {
			parts = append(parts, page.Counted(n/u.size, u.one, u.many))
			n %= u.size
		}
	}
	if parts == nil {
		return "0 seconds"
	}
	return strings.Join(parts, " ")
}

// stepOptions returns the properties of a step, in the order in which pages show them.
func stepOptions(s catalog.JobStep) []option {
	var list []option
	d := model.DefaultStep
	add := func(name, value string, isDefault bool) {
		list = append(list, option{Name: name, Value: value, Default: isDefault})
	}
	text := func(name, value string) {
		if value != "" {
			add(name, value, false)
		}
	}
	add("Type", s.CommandType, strings.EqualFold(s.CommandType, string(action.TypeTSQL)))
	text("Target group", s.TargetGroup)
	text("Credential", s.Credential)
	add("Retries", fmt.Sprintf("%s: the first after %s, then %s times as long, at most %s", page.Counted(s.RetryAttempts, "retry", "retries"),
		seconds(s.InitialRetryInterval), strconv.FormatFloat(s.RetryIntervalMultiplier, 'f', -1, 32), seconds(s.MaximumRetryInterval)),
		s.RetryAttempts == d.RetryAttempts && s.InitialRetryInterval == d.InitialRetryInterval &&
			s.MaximumRetryInterval == d.MaximumRetryInterval && s.RetryIntervalMultiplier == d.RetryIntervalMultiplier)
	if s.RetryAttempts == 0 {
		list[len(list)-1].Value = "none"
	}
	add("Retries after", map[string]string{"All": "all errors", "Transient": "errors that may pass by themselves"}[s.RetryErrors], false)
	add("Tolerated failures", s.ToleratedFailures, s.ToleratedFailures == d.ToleratedFailures)
	add("Time limit", seconds(s.Timeout)+" for each target, waits included", s.Timeout == d.Timeout)
	if s.MaxParallelism != nil {
		add("Parallel targets", fmt.Sprintf("at most %d of an elastic pool", *s.MaxParallelism), false)
	}
	switch {
	case s.After == nil && s.StepID > 1:
		add("After", "the step before it", true)
	case s.After == nil:
	case len(s.After) == 0:
		add("After", "no other step: it starts with the run", false)
	default:
		add("After", strings.Join(s.After, ", "), false)
	}
	add("Runs", map[string]string{"Succeeded": "if the steps before it succeeded", "Failed": "if a step before it failed", "Finished": "however the steps before it ended"}[s.RunWhen], s.RunWhen == d.RunWhen)
	add("On targets", map[string]string{"All": "all", "Failed": "on which a step before it failed", "Succeeded": "on which the steps before it succeeded"}[s.OnTargets], s.OnTargets == d.OnTargets)
	add("If the outcome is unknown", map[string]string{"Retry": "try again", "Fail": "fail", "Await": "wait for a decision"}[s.OnUnknownOutcome], s.OnUnknownOutcome == d.OnUnknownOutcome)
	if s.AtMostOnce {
		add("At most once", "the script runs in a transaction with a ledger row in the target", false)
	}
	for i := range model.StepFields {
		if f := &model.StepFields[i]; f.Words != nil && f.Differs(&s.StepSettings, &model.DefaultStep) {
			name, value := f.Words(&s.StepSettings)
			add(name, value, false)
		}
	}
	if s.OutputType != "" {
		add("Output", fmt.Sprintf("the first result set goes to %s.%s in database %s on %s", cmp.Or(s.Output.Schema, "dbo"), s.Output.Table, s.Output.Database, s.Output.Server), false)
		text("Output credential", s.Output.Credential)
	}
	return list
}
