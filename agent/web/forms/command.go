package forms

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
)

// native is the command that makes one call of a procedure: its words, the parameters that follow
// them, and the flags of others.
type native struct {
	words    string
	operands []string
	flags    map[string]string
}

var (
	jobFlags   = model.Flags(model.JobFields)
	alertFlags = map[string]string{
		"job_name": "job", "job_pattern": "jobs", "percent_failed": "percent", "percent_changed": "percent-changed", "target_group_pattern": "groups", "factor": "factor", "runs": "runs", "seconds": "seconds", "severity": "severity",
		"throttle_seconds": "throttle", "repeat_seconds": "repeat", "notify_resolved": "notify-resolved", "description": "description", "enabled": "enabled", "lifecycles": "lifecycle",
	}
	channelFlags  = map[string]string{"definition": "definition", "enabled": "enabled"}
	scheduleFlags = model.Flags(model.ScheduleFields)
	natives       = map[string]native{
		"jobs.sp_set_limit":            {"limit set", []string{"scope", "name", "max_concurrent_targets"}, map[string]string{"server_name": "server"}},
		"jobs.sp_add_alert":            {"alert rule add", []string{"alert_name", "condition"}, alertFlags},
		"jobs.sp_update_alert":         {"alert rule update", []string{"alert_name"}, alertFlags},
		"jobs.sp_add_alert_channel":    {"alert channel add", []string{"channel_name", "channel_type", "definition"}, channelFlags},
		"jobs.sp_update_alert_channel": {"alert channel update", []string{"channel_name"}, channelFlags},
		"jobs.sp_add_schedule":         {"schedule add", []string{"job_name", "schedule_name"}, scheduleFlags},
		"jobs.sp_update_schedule":      {"schedule update", []string{"job_name", "schedule_name"}, scheduleFlags},
		"jobs.sp_add_jobstep":          {"step add", []string{"job_name"}, stepFlags("name")},
		"jobs.sp_update_jobstep":       {"step update", []string{"job_name"}, stepFlags("step-name")},
	}
)

// stepFlags returns the flags of a step. step_name names a new one, and says which one is changed.
func stepFlags(name string) map[string]string {
	m := model.Flags(model.StepFields)
	delete(m, "after") // which has a flag for each name
	m["step_name"], m["step_id"] = name, "step-id"
	return m
}

// commands returns the same as commands: the one of the object if there is one that makes the
// call, and jobagent apply with the file that the preview shows.
func (s *subject) commands(want manifest.Object, calls []controldb.Call) []page.Equivalent {
	apply := page.CLI("apply", "-f", manifest.FileName(want.Name())+".yaml")
	if len(calls) != 1 {
		return apply
	}
	args, ok := s.command(want, calls[0])
	if !ok {
		return apply
	}
	return append(page.CLI(args...), apply...)
}

// command returns the command that makes a call; false if there is none.
func (s *subject) command(want manifest.Object, call controldb.Call) ([]string, bool) {
	given, texts := map[string]string{}, []string{}
	for _, a := range call.Args {
		if a.Name != "if_match" {
			given[a.Name] = fmt.Sprint(a.Value)
			texts = append(texts, given[a.Name])
		}
	}
	if call.Procedure == "jobs.sp_set_job" {
		return s.jobCommand(want, given)
	}
	n, ok := natives[call.Procedure]
	if !ok {
		return nil, false
	}
	for _, text := range texts { // what a command line does not take well is in the file
		if strings.ContainsFunc(text, unicode.IsControl) {
			return nil, false
		}
	}
	args := strings.Fields(n.words)
	for _, name := range n.operands {
		if strings.HasPrefix(given[name], "-") {
			return nil, false
		}
		args = append(args, given[name])
		delete(given, name)
	}
	if spec, ok := given["spec"]; ok {
		kind := given["kind"]
		if !map[string]bool{"cron5": true, "cron6": true, "quartz": true, "rrule": true}[kind] || strings.HasPrefix(spec, "{") {
			return nil, false
		}
		args = append(args, "--"+kind+"="+spec)
		delete(given, "spec")
		delete(given, "kind")
	}
	if channels, ok := given["channels"]; ok {
		if channels != "[]" || s.have != nil {
			return nil, false
		}
		delete(given, "channels")
	}
	return flags(args, n.flags, given, call, s.name == "")
}

// jobCommand is that of a job: create, or update with what differs.
func (s *subject) jobCommand(want manifest.Object, given map[string]string) ([]string, bool) {
	job := want.Value.(*manifest.Job)
	if strings.HasPrefix(job.Name, "-") || strings.ContainsFunc(job.Description, unicode.IsControl) {
		return nil, false
	}
	args := []string{"job", "create", job.Name}
	description := job.Description
	if s.have != nil {
		old := s.have.Value.(*manifest.Job)
		if len(manifest.Compare(s.have.Object, want)) != 1 || old.Description == description {
			return nil, false
		}
		return append([]string{"job", "update", job.Name}, "--description="+description), true
	}
	if description != "" {
		args = append(args, "--description="+description)
	}
	if own := job.Schedule; own != nil {
		args = append(args, "--enabled="+given["enabled"], "--interval-type="+own.Interval, fmt.Sprintf("--interval-count=%d", own.Count))
		for _, name := range []string{"schedule_start_time", "schedule_end_time"} {
			at := own.Start
			if name == "schedule_end_time" {
				at = own.End
			}
			if !at.IsZero() {
				args = append(args, "--"+jobFlags[name]+"="+at.UTC().Format("2006-01-02T15:04:05.9999999Z"))
			}
		}
	}
	return args, true
}

// flags adds the flags of what is given, in the order of the call; false if one has no flag. fresh
// says that the call makes something new.
func flags(args []string, names, given map[string]string, call controldb.Call, fresh bool) ([]string, bool) {
	for _, a := range call.Args {
		text, ok := given[a.Name]
		if !ok {
			continue
		}
		flag, known := names[a.Name]
		if !known {
			return nil, false
		}
		if text == "" { // the default of something new; else the file says it
			if !fresh {
				return nil, false
			}
			continue
		}
		args = append(args, "--"+flag+"="+text)
	}
	return args, true
}
