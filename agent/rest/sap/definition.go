package sap

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/wording"
)

const (
	// maxText bounds descriptions, users and passwords, in characters. SAP documents no limit.
	maxText = 1024
	// maxAction bounds the URL of an action, in characters.
	maxAction = 2048
)

// methods are the methods of actions.
var methods = []string{"GET", "POST", "PUT", "DELETE"}

// jobDefinition is what a body says about a job. Nil pointers and empty texts of JSON stand for
// absent members.
type jobDefinition struct {
	Name string
	// Type is sap.EndpointJob or sap.TaskJob; empty if absent.
	Type        string
	Description *string
	Action      *string
	Active      *bool
	Method      *string
	Start, End  *bound
	// ANS and CALM are compact JSON; empty if absent.
	ANS, CALM string
	// User and Password authenticate the call (S-53).
	User, Password *string
	// Schedules is nil if the member is absent.
	Schedules []scheduleDefinition
	// Ignored are the names of unknown members (S-14).
	Ignored []string
}

// bound is a start or an end that a body sets.
type bound struct {
	// At is zero if the body sets null.
	At time.Time
	// Raw is the compact JSON of the value.
	Raw string
}

// scheduleDefinition is what a body says about a schedule.
type scheduleDefinition struct {
	// Mode is cron, time, repeatInterval or repeatAt; empty if absent. Value is its compact JSON.
	Mode, Value string
	Description *string
	// Data is compact JSON. DataSet says that the member is there; Data is empty for null.
	Data       string
	DataSet    bool
	Active     *bool
	Start, End *bound
	Ignored    []string
}

// definitionReader reads definitions and collects their faults.
type definitionReader struct {
	// now is the creation, to which relative times refer.
	now time.Time
	// minInterval is the least time between two runs (S-19); 0 means no limit.
	minInterval time.Duration
	// guard reports whether actions may call host:port; nil: all.
	guard func(address string) error
	// tasks are the entries of the agents' configuration that tasks of the caller may run.
	tasks []string
	// unchecked says that the caller checks the mode later, with the values that stay (E11).
	unchecked bool
	faults    []fault
	// checked are the texts of schedules without faults, which need no second check.
	checked map[string]bool
}

func (r *definitionReader) fault(format string, args ...any) {
	r.faults = append(r.faults, fault{text: fmt.Sprintf(format, args...)})
}

// unknown returns the names of members that are not known.
func unknown(v *value, known ...string) (names []string) {
	for _, m := range v.Members {
		if !slices.Contains(known, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// maxNote bounds a text in the action log, in characters. A character has at most two of the 1,000
// UTF-16 units of the column.
const maxNote = 500

// note returns the text of the action log about members that were ignored (S-14); empty for none.
// It has their names only, because a value may be a secret.
func note(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return wording.Clip("Ignored members: "+strings.Join(quoted, ", "), maxNote, wording.Characters)
}

// ignored returns the names of the unknown members of a job and of its schedules.
func (d *jobDefinition) ignored() []string {
	names := slices.Clone(d.Ignored)
	for i := range d.Schedules {
		for _, name := range d.Schedules[i].Ignored {
			names = append(names, fmt.Sprintf("schedules[%d].%s", i, name))
		}
	}
	return names
}

// jobMembers are the members of a job that a body may set, and those of answers, which clients may
// send back.
var jobMembers = []string{
	"name", "description", "action", "active", "httpMethod", "startTime", "endTime", "ansConfig", "calmConfig", "user", "password",
	"schedules", "_id", "jobId", "jobType", "signatureVersion", "subDomain", "createdAt", "ACTIVECOUNT", "INACTIVECOUNT",
}

// job reads a body of E1, E5 or E6. whole says that the body defines a job wholly (E1, E6).
func (r *definitionReader) job(v *value, whole bool) *jobDefinition {
	d := &jobDefinition{Ignored: unknown(v, jobMembers...)}
	if name := v.Get("name"); name != nil {
		d.Name = r.name(name)
	} else if whole {
		r.fault("Job name is missing")
	}
	d.Type = r.jobType(v, whole)
	d.Description = r.text(v, "description")
	switch a := v.Get("action"); {
	case a == nil && (whole || v.Has("action")):
		r.fault("Job action is missing")
	case a == nil:
	// Of a change, the control database knows the type of the job.
	case d.Type == sap.TaskJob, !whole && len(r.tasks) > 0 && strings.HasPrefix(a.Text, sap.TaskPrefix):
		d.Action = r.task(a)
	default:
		d.Action = r.action(a)
	}
	d.Active = r.boolean(v, "active")
	d.Method = r.method(v)
	d.User, d.Password = r.text(v, "user"), r.text(v, "password")
	if whole && valueOf(d.User) == "" && valueOf(d.Password) != "" {
		r.fault("'password' needs 'user'")
	}
	if d.Type == sap.TaskJob && (valueOf(d.User) != "" || valueOf(d.Password) != "" || d.Method != nil && *d.Method != http.MethodPost) {
		r.fault("A task sends no request: leave 'httpMethod', 'user' and 'password' out")
	}
	d.Start, d.End = r.bounds(v)
	d.ANS = r.config(v, "ansConfig", false, "onSuccess", "onError", "onDelay")
	d.CALM = r.config(v, "calmConfig", true, "enabled")
	r.schedules(d, v, whole)
	return d
}

// jobType reads the type of a job. SAP's service does not create tasks by REST: a developer does it
// in the dashboard, who may deploy the application. Here it is the configuration of the front that
// permits tasks.
func (r *definitionReader) jobType(v *value, whole bool) string {
	kind := v.Get("jobType")
	switch {
	case kind == nil:
		return ""
	case !whole, kind.Text == sap.EndpointJob, kind.Text == sap.TaskJob && len(r.tasks) > 0:
		return kind.Text
	}
	r.fault("Jobs of the type %s cannot be created by REST", cut(kind.Raw))
	return ""
}

// task reads the action of a task.
func (r *definitionReader) task(v *value) *string {
	entry, isTask := strings.CutPrefix(v.Text, sap.TaskPrefix)
	if v.Kind != '"' || !isTask || !slices.Contains(r.tasks, entry) {
		r.faults = append(r.faults, fault{
			text:   "Invalid action of a task",
			detail: "want " + sap.TaskPrefix + "NAME with one of the names " + strings.Join(r.tasks, ", "),
		})
	}
	return &v.Text
}

// schedules reads the schedules of a job.
func (r *definitionReader) schedules(d *jobDefinition, v *value, whole bool) {
	list := v.Get("schedules")
	switch {
	case !whole && v.Has("schedules"):
		r.fault("'schedules' is not allowed: configure schedules one by one")
	case !whole:
	case list == nil:
		r.fault("'schedules' is a required property")
	case list.Kind != '[':
		r.fault("'schedules' must be of type 'array'")
	default:
		d.Schedules = []scheduleDefinition{}
		for i := range list.Items {
			d.Schedules = append(d.Schedules, r.schedule(list.Items[i], true))
		}
	}
}

// nameForm is the form of names (S-12).
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_.()-](?:[A-Za-z0-9 _.()-]{0,126}[A-Za-z0-9_.()-])?$`)

// nameFault returns the text of a fault of a job's name, or empty.
func nameFault(name string) string {
	switch {
	case name == "":
		return "Job name is missing"
	case isDigits(name):
		return fmt.Sprintf("Invalid job name '%s': it must not have digits only", cut(name))
	case !nameForm.MatchString(name):
		return fmt.Sprintf("Invalid job name '%s': want 1 to 128 letters, digits, spaces and _ - . ( ), without a space at the beginning or the end", cut(name))
	}
	return ""
}

// cut shortens a text for a message.
func cut(text string) string { return wording.Clip(text, 128, wording.Characters) }

func (r *definitionReader) name(v *value) string {
	if v.Kind != '"' {
		r.fault("'name' must be of type 'string'")
		return ""
	}
	if text := nameFault(v.Text); text != "" {
		r.fault("%s", text)
	}
	return v.Text
}

// text reads a text; null counts as an empty one.
func (r *definitionReader) text(v *value, name string) *string {
	member := v.Get(name)
	switch {
	case member == nil && v.Has(name):
		return new(string)
	case member == nil:
		return nil
	case member.Kind != '"':
		r.fault("'%s' must be of type 'string'", pathOf(v, name))
	case utf8.RuneCountInString(member.Text) > maxText:
		r.fault("'%s' is longer than %d characters", place(member), maxText)
	case strings.ContainsRune(member.Text, 0):
		r.fault("'%s' contains the character U+0000", place(member))
	case (name == "user" || name == "password") && strings.ContainsFunc(member.Text, unicode.IsControl): // RFC 7617, 2
		r.fault("'%s' contains a control character", place(member))
	}
	return &member.Text
}

// pathOf returns the path of a member.
func pathOf(v *value, name string) string {
	return jsontree.Join(place(v), name)
}

// boolean reads a truth value in one of the forms of S-10. Null counts as absent.
func (r *definitionReader) boolean(v *value, name string) *bool {
	member := v.Get(name)
	if member == nil {
		return nil
	}
	b, ok := truth(member)
	if !ok {
		r.fault("'%s' must be of type 'boolean'", place(member))
	}
	return &b
}

// truth returns a truth value: true, false, "true", "false", 1 or 0 (S-10).
func truth(v *value) (is, ok bool) {
	switch v.Raw {
	case `true`, `"true"`, `1`:
		return true, true
	case `false`, `"false"`, `0`:
		return false, true
	}
	return false, false
}

func (r *definitionReader) method(v *value) *string {
	member := v.Get("httpMethod")
	if member == nil {
		return nil
	}
	method := strings.ToUpper(member.Text)
	if member.Kind != '"' || !slices.Contains(methods, method) {
		r.fault("'httpMethod' must be one of %s", strings.Join(methods, ", "))
	}
	return &method
}

// action reads the URL of an action: absolute, http or https, without user, password and fragment.
func (r *definitionReader) action(v *value) *string {
	f := fault{text: "Invalid action URL"}
	u, err := url.Parse(v.Text)
	switch {
	case v.Kind != '"':
		f = fault{text: "'action' must be of type 'string'"}
	case utf8.RuneCountInString(v.Text) > maxAction:
		f.detail = fmt.Sprintf("longer than %d characters", maxAction)
	case err != nil || u.Host == "" || u.Hostname() == "" || !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		f.detail = "want an absolute URL with the scheme https or http"
	case u.User != nil:
		f.detail = "it must not contain a user and a password"
	case u.Fragment != "" || strings.Contains(v.Text, "#"):
		f.detail = "it must not contain a fragment"
	case strings.Contains(v.Text, "$("): // the control database refuses variables, too
		f.text = "Invalid action URL: want no $("
	default:
		if f.detail = checkAction(v.Text); f.detail == "" {
			f.detail = r.refused(u)
		}
		if f.detail == "" {
			return &v.Text
		}
	}
	r.faults = append(r.faults, f)
	return &v.Text
}

// refused returns why agents may not call the host of a URL, or empty. Names are not resolved here.
func (r *definitionReader) refused(u *url.URL) string {
	if r.guard == nil {
		return ""
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
	if err := r.guard(net.JoinHostPort(u.Hostname(), port)); err != nil {
		return err.Error()
	}
	return ""
}

// checkAction returns why the agent would refuse a URL, or empty.
func checkAction(address string) string {
	_, err := action.Decode(action.TypeHTTP, Command(address, "POST"))
	if err != nil {
		return err.Error()
	}
	return ""
}

// config reads ansConfig or calmConfig, an object of truth values. It returns compact JSON.
func (r *definitionReader) config(v *value, name string, full bool, allowed ...string) string {
	c := v.Get(name)
	if c == nil {
		return ""
	}
	if c.Kind != '{' {
		r.fault("'%s' must be of type 'object'", name)
		return ""
	}
	if len(c.Members) == 0 && full {
		r.fault("'%s' object cannot be empty", name)
		return ""
	}
	for _, other := range unknown(c, allowed...) {
		r.fault("'%s' is not an allowed property for object '%s'", cut(other), name)
	}
	for _, property := range allowed {
		switch {
		case !c.Has(property) && full:
			r.fault("'%s' is a required property for object '%s'", property, name)
		case !c.Has(property):
		case c.Get(property) == nil || c.Get(property).Kind != 't':
			r.fault("'%s' in '%s' must be of type 'boolean'", property, name)
		}
	}
	return c.Compact()
}

// Command returns the definition of the step of a job: a call as SAP's service makes it (S-32,
// S-48 to S-51).
func Command(address, method string) string {
	h := &action.HTTP{
		Method: method, URL: strings.ReplaceAll(address, "$(", "$$("), // $( begins a template
		AllowHTTP: strings.HasPrefix(strings.ToLower(address), "http://"),
		Headers:   []action.Field{{Name: "Accept", Value: "application/json"}},
		Payload:   action.PayloadBody, Success: action.Success{Preset: action.PresetSAP}, ResponseTimeout: 15 * time.Second,
	}
	if method == "GET" || method == "DELETE" {
		h.Payload = action.PayloadQuery
	}
	d := &action.Definition{Type: action.TypeHTTP, HTTP: h, Callback: &action.Callback{StatusAccepted: true}}
	return d.Encode()
}
