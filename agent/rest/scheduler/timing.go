package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/scheduler"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// timing is when a job is due, as the control database holds it.
type timing struct {
	StartTime  string         `json:"startTime,omitempty"`
	Recurrence map[string]any `json:"recurrence,omitempty"`
}

// decodeObject reads a JSON object, and keeps numbers as they are written.
func decodeObject(text []byte, dst any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(dst)
}

// readTiming reads start and recurrence of a request, and returns them in a form in which equal
// schedules are equal texts, with the shortest time between two instants in seconds (0: unknown).
func (s *Surface) readTiming(p jobProperties) (text string, gap int64, faults []rest.Detail) {
	t := timing{StartTime: normalTime(p.StartTime)}
	if raw := bytes.TrimSpace(p.Recurrence); len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
		if err := decodeObject(raw, &t.Recurrence); err != nil || t.Recurrence == nil {
			return "", 0, []rest.Detail{{
				Code: codeBadRequest, Target: "$.properties.recurrence", Message: "Invalid recurrence: want an object.",
			}}
		}
		dropNulls(t.Recurrence)
		normalize(t.Recurrence)
		if end, ok := t.Recurrence["endTime"].(string); ok {
			t.Recurrence["endTime"] = normalTime(end)
		}
	}
	spec, err := json.Marshal(t)
	if err != nil {
		return "", 0, []rest.Detail{{Code: codeBadRequest, Target: "$.properties.recurrence", Message: "Invalid recurrence."}}
	}
	now := s.now()
	plan, err := schedule.Parse(schedule.KindAzureScheduler, spec, schedule.Options{Created: now, Uncounted: true})
	var wrong *schedule.Error
	if errors.As(err, &wrong) {
		for _, f := range wrong.Faults {
			path := f.Path
			if path != "startTime" && !strings.HasPrefix(path, "recurrence") {
				path = "recurrence." + path
			}
			faults = append(faults, rest.Detail{
				Code: codeBadRequest, Target: "$.properties." + path, Message: fmt.Sprintf("Invalid %s %s: want %s.", path, f.Value, f.Allowed),
			})
		}
		return "", 0, faults
	}
	if err != nil {
		return "", 0, []rest.Detail{{Code: codeBadRequest, Target: "$.properties.recurrence", Message: "Invalid recurrence: " + err.Error() + "."}}
	}
	if latest := now.AddDate(0, 18, 0); plan.Start.After(latest) {
		faults = append(faults, rest.Detail{
			Code: codeBadRequest, Target: "$.properties.startTime",
			Message: fmt.Sprintf("Invalid startTime '%s': want at most 18 months ahead.", p.StartTime),
		})
	}
	if _, has := t.Recurrence["schedule"]; has {
		gap = shortestGap(plan, now)
	}
	return string(spec), gap, faults
}

// dropNulls removes the members that are null, which mean absence.
func dropNulls(object map[string]any) {
	for name, value := range object {
		if value == nil {
			delete(object, name)
		} else if inner, ok := value.(map[string]any); ok {
			dropNulls(inner)
		}
	}
}

// gapInstants is the number of instants in which the shortest distance is searched: more than a
// month of hours.
const gapInstants = 800

// shortestGap returns the shortest distance in seconds between two of the next instants.
func shortestGap(plan *schedule.Plan, now time.Time) (gap int64) {
	last, ok := plan.Next(now)
	for range gapInstants {
		next, more := plan.Next(last)
		if !ok || !more {
			break
		}
		if d := int64(next.Sub(last) / time.Second); gap == 0 || d < gap {
			gap = d
		}
		last = next
	}
	return gap
}

// timeForms are the forms of times that clients send, most with an offset.
var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04"}

// normalTime returns a time in one form, in its offset and in whole seconds. Another text is
// returned as it is; the schedule engine reads it, or says what is wrong with it.
func normalTime(text string) string {
	if t, ok := parseTime(text); ok {
		return t.Truncate(time.Second).Format(time.RFC3339)
	}
	return text
}

func parseTime(text string) (time.Time, bool) {
	for _, form := range timeForms {
		if t, err := time.Parse(form, strings.TrimSpace(text)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// shownTime returns a time as answers have it: UTC, with up to seven decimals.
func shownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.9999999Z07:00")
}

// shownText is shownTime for a text.
func shownText(text string) string {
	if t, ok := parseTime(text); ok {
		return shownTime(t)
	}
	return text
}

// shownTiming returns start and recurrence as answers have them.
func shownTiming(text string) (start string, recurrence json.RawMessage) {
	var t timing
	if decodeObject([]byte(text), &t) != nil || t.Recurrence == nil {
		return shownText(t.StartTime), nil
	}
	r := t.Recurrence
	normalize(r)
	if end, ok := r["endTime"].(string); ok {
		r["endTime"] = shownText(end)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return shownText(t.StartTime), nil // values of JSON
	}
	return shownText(t.StartTime), raw
}

// normalize changes a recurrence to the form of answers, except its end: equal recurrences are
// equal texts then, and what a client reads and writes again changes nothing. Faults stay as they
// are.
func normalize(r map[string]any) {
	if f, ok := r["frequency"].(string); ok {
		r["frequency"] = strings.ToLower(f)
	}
	if r["interval"] == nil {
		r["interval"] = 1
	}
	inner, ok := r["schedule"].(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"minutes", "hours", "weekDays", "monthDays"} {
		if v, has := inner[name]; has {
			inner[name] = listOf(v)
		}
	}
	if days, ok := inner["weekDays"].([]any); ok {
		for i, d := range days {
			days[i] = shownDay(d)
		}
	}
	if list, has := inner["monthlyOccurrences"]; has {
		inner["monthlyOccurrences"] = shownOccurrences(listOf(list))
	}
}

// listOf returns a list; one value stands for a list of it (D-A13).
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// shownDay returns the name of a day with a capital letter.
func shownDay(v any) any {
	if text, ok := v.(string); ok && text != "" {
		return strings.ToUpper(text[:1]) + strings.ToLower(text[1:])
	}
	return v
}

// shownOccurrences spells Occurrence with its capital letter.
func shownOccurrences(list []any) []any {
	for i, v := range list {
		o, ok := v.(map[string]any)
		if !ok {
			continue
		}
		shown := map[string]any{}
		for name, value := range o {
			switch strings.ToLower(name) {
			case "occurrence":
				shown["Occurrence"] = value
			case "day":
				shown["day"] = shownDay(value)
			default:
				shown[name] = value
			}
		}
		list[i] = shown
	}
	return list
}

// nextExecution returns when a job is due next; zero means never. Until an agent has read the
// schedule, its first instant is computed here.
func nextExecution(j scheduler.Job) time.Time {
	if j.State != "Enabled" || !j.AwaitsValidation || !j.NextDueTime.IsZero() {
		return j.NextDueTime
	}
	plan, err := schedule.Parse(schedule.KindAzureScheduler, []byte(j.Schedule), schedule.Options{
		Created: j.DefinedTime, Activated: j.ActivatedTime, Uncounted: true,
	})
	if err != nil {
		return time.Time{}
	}
	next, _ := plan.Next(time.Time{})
	return next
}
