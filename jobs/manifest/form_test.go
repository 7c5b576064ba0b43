package manifest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A form has all fields of its model, and what it is filled with gives the same object again.
func TestFormsAreFiles(t *testing.T) {
	t.Parallel()
	set, err := Load(Input{Text: []byte(`
apiVersion: jobagent/v1
kind: TargetGroup
name: g
members: [{server: s1}, {server: s1, database: d, exclude: true}]
---
apiVersion: jobagent/v1
kind: Calendar
name: holidays
spec: {timeZone: Europe/Berlin, dates: ["2026-12-24"]}
---
apiVersion: jobagent/v1
kind: AlertChannel
name: c
type: Http
definition: {method: POST, url: "https://example.com/"}
---
apiVersion: jobagent/v1
kind: TargetWindow
name: w
calendar: nights
blackouts: month-end
server: s
database: d
zone: Europe/Berlin
zone_tag: zone
---
apiVersion: jobagent/v1
kind: Job
name: j
description: "two\nlines"
parameters:
  - {name: days, type: integer, default: 7, choices: [7, 14]}
  - {name: mode, default: "5", choices: ["5", "on"]}
schedule: {enabled: false, interval: Days, count: 2, start: 2026-01-31T22:00:00Z, parameters: {days: 14}}
schedules:
  - {name: a, cron5: "0 2 * * *", zone: Europe/Berlin, overlap: BufferOne, parameters: {days: 7}}
  - {name: b, azure_scheduler: {recurrence: {frequency: day, interval: 1}}, enabled: false}
steps:
  - {name: one, target_group: g, command: "SELECT 1;\r\nGO\r\n", max_parallelism: 3, output: {server: s, database: d, table: t}}
  - {name: two, http: {method: GET, url: "https://example.com/"}, after: [], retry_interval_backoff_multiplier: 1.5}
  - {name: three, target_group: g, command: "SELECT 3;", after: [one, two], run_when: Finished, at_most_once: true}
  - {name: four, target_group: g, drift: {against: s/golden, include: [permissions], exclude: ["dbo.tmp*"]}}
---
apiVersion: jobagent/v1
kind: Limit
scope: ElasticPool
name: p
server: s
max_concurrent_targets: 5
---
apiVersion: jobagent/v1
kind: Alert
name: r
condition: RunTooLong
factor: 1.5
channels: [c]
notify_resolved: false
`), Display: "x"})
	require.NoError(t, err)
	require.Len(t, set.Objects, len(Kinds()))
	for _, o := range set.Objects {
		fields := FormFields(reflect.ValueOf(o.Value).Elem().Interface())
		again, faults := FillIn(NewObject(o.Kind), "", fields, FormValues(o.Value))
		require.Empty(t, faults, o.Kind)
		require.Equal(t, Text(o), Text(again), o.Kind)
		require.Empty(t, Compare(o, again))
		job, ok := o.Value.(*Job)
		if !ok {
			continue
		}
		// A part is filled in without a change of the rest, and one behind the last is added.
		parts := FormFields(Step{})
		for i, s := range job.Steps {
			same, faults := FillIn(o, "steps["+string(rune('0'+i))+"]", parts, FormValues(s))
			require.Empty(t, faults)
			require.Equal(t, Text(o), Text(same))
		}
		typed := FormDefaults(Step{})
		typed["name"], typed["target_group"], typed["command"], typed["command.text"] = "five", "g", "command", "SELECT 5;"
		more, faults := FillIn(o, "steps[4]", parts, typed)
		require.Empty(t, faults)
		require.Equal(t, []string{"steps[five]"}, Compare(o, more))
		require.Len(t, job.Steps, 4, "the object itself stays")
		typed["name"], typed["after"] = "ONE", "one\nnobody"
		_, faults = FillIn(o, "steps[4]", parts, typed)
		require.Equal(t, "name", faults[0].Path)
		typed["name"] = "five"
		_, faults = FillIn(o, "steps[4]", parts, typed)
		require.Equal(t, Faults{{Path: "after", Message: `line 2: step "nobody" does not exist`}}, faults)
	}
}

// What is typed stands for itself: it is no YAML and no path of a file.
func TestFormsAreTexts(t *testing.T) {
	t.Parallel()
	fields := FormFields(Step{})
	typed := FormDefaults(Step{})
	typed["name"], typed["target_group"], typed["command"] = "no", "010", "command"
	for _, text := range []string{"{file: secret.sql}", "&a [x]", "- x\n- y", "a: b", "null", "\"x", "x # y", "--- \n..."} {
		typed["command.text"] = text
		o, faults := FillIn(Object{Kind: KindJob, Value: &Job{Name: "j"}}, "steps[0]", fields, typed)
		require.Empty(t, faults)
		step := o.Value.(*Job).Steps[0]
		require.Equal(t, []string{"no", "010", text, ""}, []string{step.Name, step.TargetGroup, step.Command.Text, step.Command.File})
	}
	// Names of rows that are out of reach add none.
	require.Zero(t, Values{"members[99999999].server": "x", "members[x].server": "x", "members[-1].server": "x"}.Rows("members"))
	_, faults := FillIn(NewObject(KindTargetGroup), "", FormFields(TargetGroup{}), Values{"name": "g", "unknown": "x", "members[1].server": "x"})
	require.Equal(t, Faults{{Path: "members[0].server", Message: "a text is missing: want server, tag_filter or target_group"}}, faults)
	require.True(t, strings.HasPrefix(labelled(fields), "name text,target_group text,credential text,command oneof,retry_attempts number,"), labelled(fields))
}

func labelled(list []Field) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString(f.Name + " " + string(f.Kind) + ",")
	}
	return b.String()
}
