package manifest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
)

// APIVersion is the version of the format.
const APIVersion = "jobagent/v1"

// Kind is the kind of an object.
type Kind string

// The kinds, in the order in which they are applied: objects come after those that they refer to.
const (
	KindTargetGroup  Kind = "TargetGroup"
	KindCalendar     Kind = "Calendar"
	KindTargetWindow Kind = "TargetWindow"
	KindAlertChannel Kind = "AlertChannel"
	KindJob          Kind = "Job"
	KindLimit        Kind = "Limit"
	KindAlert        Kind = "Alert"
)

// Kinds lists the kinds in the order in which they are applied.
func Kinds() []Kind {
	return []Kind{KindTargetGroup, KindCalendar, KindTargetWindow, KindAlertChannel, KindJob, KindLimit, KindAlert}
}

// The models of objects. Decoder, encoder and JSON Schema are made from these declarations:
//
//   - json is the name of the field.
//   - rule has the restrictions: required; visible: a text that is given has more than blanks;
//     default=VALUE, which the encoder leaves out, unless always; min=N, max=N for numbers, and
//     max=N, the number of characters, for texts; enum=A|B; one=GROUP: exactly one field of the
//     group is given.
//   - doc describes the field in the schema.

// TargetGroup is a list of servers and databases.
type TargetGroup struct {
	Name    string   `json:"name" rule:"required,max=128" doc:"Name of the group."`
	Members []Member `json:"members" doc:"The databases of the group. A server or a pool stands for all its databases at the time of a run."`
}

// Member is a member of a target group. Its type follows from its fields.
type Member struct {
	Server      string `json:"server" rule:"visible,max=128" doc:"Name of the server. Alone, it stands for all its databases. All members but those with tag_filter or target_group need it."`
	Database    string `json:"database" rule:"max=128" doc:"One database; with shard_map, the database of the shard map manager; with query, the one that is queried."`
	ElasticPool string `json:"elastic_pool" rule:"max=128" doc:"All databases of this elastic pool."`
	ShardMap    string `json:"shard_map" rule:"max=128" doc:"All shards of this shard map."`
	TagFilter   string `json:"tag_filter" rule:"max=4000" doc:"The known databases whose tags match, such as tier = 'gold' AND NOT region IN ('eu'). Without server."`
	Query       string `json:"query" rule:"max=4000" doc:"A batch that returns the databases: a column database_name, and optionally server_name. With server and database, on which it runs."`
	TargetGroup string `json:"target_group" rule:"max=128" doc:"The databases of another target group. Without server."`
	Exclude     bool   `json:"exclude" rule:"default=false" doc:"Leaves these databases out, whatever the order of members."`
	Intersect   bool   `json:"intersect" rule:"default=false" doc:"Keeps only these databases, whatever the order of members."`
	Credential  string `json:"credential" rule:"max=128" doc:"Credential that lists the databases; default: the agent's."`
}

// NewMember returns a member as files write it.
func NewMember(m targets.Member) Member {
	return Member{
		Server: m.Server, Database: m.Database, ElasticPool: m.ElasticPool, ShardMap: m.ShardMap, TagFilter: m.TagFilter, Query: m.Query,
		TargetGroup: m.Group, Exclude: m.Membership == targets.Exclude, Intersect: m.Membership == targets.Intersect, Credential: m.RefreshCredential,
	}
}

// Target returns the member as the control database stores it.
func (m Member) Target() targets.Member {
	out := targets.Member{
		Membership: targets.Include, Server: m.Server, Database: m.Database, ElasticPool: m.ElasticPool, ShardMap: m.ShardMap,
		TagFilter: m.TagFilter, Query: m.Query, Group: m.TargetGroup, RefreshCredential: m.Credential,
	}
	switch {
	case m.Exclude:
		out.Membership = targets.Exclude
	case m.Intersect:
		out.Membership = targets.Intersect
	}
	out.Kind = targets.KindOf(out)
	return out
}

// Targets returns the members as the control database stores them.
func (g *TargetGroup) Targets() []targets.Member {
	list := make([]targets.Member, 0, len(g.Members))
	for _, m := range g.Members {
		list = append(list, m.Target())
	}
	return list
}

// Calendar is a set of windows during which schedules are not due.
type Calendar struct {
	Name string `json:"name" rule:"required,max=128" doc:"Name of the calendar, which schedules name in blackouts."`
	Spec JSON   `json:"spec" rule:"required" doc:"timeZone, and dates, monthDays, weekly or rrule with startTime and duration."`
}

// TargetWindow says when attempts may start on one database, or on those that match TagFilter.
type TargetWindow struct {
	Name      string `json:"name" rule:"required,max=128" doc:"Name of the window."`
	Calendar  string `json:"calendar" rule:"max=128" doc:"The window is open only while this calendar has a window; default: at all times but those of blackouts."`
	Blackouts string `json:"blackouts" rule:"max=128" doc:"It is closed while this calendar has a window."`
	TagFilter string `json:"tag_filter" rule:"max=4000" doc:"The databases whose tags match, such as tier = 'gold', also those that come later. Without server."`
	Server    string `json:"server" rule:"visible,max=256" doc:"Server of the one database that has the window."`
	Database  string `json:"database" rule:"max=128" doc:"Its name."`
	Zone      string `json:"zone" rule:"max=128" doc:"Zone of calendars that name none, such as Europe/Berlin; default: UTC."`
	ZoneTag   string `json:"zone_tag" rule:"max=128" doc:"A tag with the zone of each database; zone is that of databases without it."`
}

// AlertChannel is where notifications of alerts are sent.
type AlertChannel struct {
	Name       string `json:"name" rule:"required,max=128" doc:"Name of the channel."`
	Type       string `json:"type" rule:"required,enum=Http|StorageQueue|ServiceBusQueue|ServiceBusTopic|Mail|Slack|Teams" doc:"Type of the channel."`
	Enabled    bool   `json:"enabled" rule:"default=true" doc:"false: nothing is sent."`
	Definition JSON   `json:"definition" rule:"required" doc:"The definition by type. Secrets are templates $(secret.NAME)."`
}

// Job is a job with its steps and schedules.
type Job struct {
	Name        string      `json:"name" rule:"required,max=128" doc:"Name of the job."`
	Description string      `json:"description" rule:"max=512" doc:"Free text."`
	Parameters  []Parameter `json:"parameters" doc:"The parameters of its runs. A job that declares some takes no others."`
	Schedule    *Interval   `json:"schedule" doc:"The schedule of jobs.sp_add_job: a plain interval in UTC. Most jobs have named schedules instead."`
	Schedules   []*Schedule `json:"schedules" doc:"Named schedules."`
	Triggers    []*Trigger  `json:"triggers" doc:"The jobs after whose runs it starts."`
	Rollout     JSON        `json:"rollout" doc:"The plan by which its runs are rolled out in waves, as in jobs.sp_set_job_rollout."`
	Steps       []*Step     `json:"steps" doc:"The steps, in their order."`
}

// Parameter is a parameter that a job declares.
type Parameter struct {
	Name        string   `json:"name" rule:"required,max=128" doc:"Name in $(param.NAME): letters, digits, _ and -."`
	Type        string   `json:"type" rule:"default=text,enum=text|integer|number|boolean|date|datetime" doc:"Type of its values."`
	Required    bool     `json:"required" rule:"default=false" doc:"It must be given, and has no default."`
	Default     Scalar   `json:"default" doc:"The value that it has if it is not given; default: null."`
	Choices     []Scalar `json:"choices" doc:"The only values that it may have."`
	Description string   `json:"description" rule:"max=512" doc:"Free text."`
}

// Declarations returns the parameters as jobs.sp_set_job_parameters reads them; empty for none.
func (j *Job) Declarations() (string, error) {
	if len(j.Parameters) == 0 {
		return "", nil
	}
	var b strings.Builder
	for i, p := range j.Parameters {
		b.WriteString(map[bool]string{true: "[", false: ","}[i == 0] + `{"name":` + string(jsonText(p.Name)) + `,"type":` + string(jsonText(p.Type)))
		fmt.Fprintf(&b, `,"required":%t`, p.Required)
		if p.Default != "" {
			b.WriteString(`,"default":` + string(p.Default))
		}
		for k, c := range p.Choices {
			b.WriteString(map[bool]string{true: `,"choices":[`, false: ","}[k == 0] + string(c))
		}
		if len(p.Choices) > 0 {
			b.WriteString("]")
		}
		b.WriteString(`,"description":` + string(jsonText(p.Description)) + "}")
	}
	list, err := parameters.ParseDeclarations(b.String() + "]")
	return parameters.EncodeDeclarations(list), err
}

// SetDeclarations sets the parameters from the form of the control database.
func (j *Job) SetDeclarations(text string) error {
	list, err := parameters.ParseDeclarations(text)
	if err != nil {
		return fmt.Errorf("the parameters of the job %q: %w", j.Name, err)
	}
	j.Parameters = nil
	for _, d := range list {
		p := Parameter{Name: d.Name, Type: string(d.Type), Required: d.Required, Description: d.Description}
		if d.Default.Kind != parameters.Null {
			p.Default = Scalar(d.Default.JSON())
		}
		for _, c := range d.Choices {
			p.Choices = append(p.Choices, Scalar(c.JSON()))
		}
		j.Parameters = append(j.Parameters, p)
	}
	return nil
}

// Interval is the schedule of a job's own definition.
type Interval struct {
	Enabled    bool      `json:"enabled" rule:"default=true,always" doc:"false: it starts no runs."`
	Interval   string    `json:"interval" rule:"default=Once,enum=Once|Minutes|Hours|Days|Weeks|Months" doc:"Unit of the interval."`
	Count      int       `json:"count" rule:"default=1,min=1,max=2147483647" doc:"Units between two runs."`
	Start      time.Time `json:"start" doc:"Earliest time of a run, such as 2026-01-31T22:00:00Z; default: when it is enabled."`
	End        time.Time `json:"end" doc:"Time after which no run begins."`
	Parameters JSON      `json:"parameters" doc:"Parameters of its runs."`
}

// Trigger starts the job after runs of other jobs.
type Trigger struct {
	Name    string   `json:"name" rule:"required,max=128" doc:"Name; unique within the job."`
	After   []string `json:"after" rule:"required" doc:"The jobs whose runs start it. With several, when a run of each has ended since it was last started."`
	RunWhen string   `json:"run_when" rule:"default=Succeeded,enum=Succeeded|Failed|Finished" doc:"What these runs end with: Succeeded (or SucceededWithSkipped), Failed (or TimedOut), or Finished (anything)."`
	Targets string   `json:"targets" rule:"default=All,enum=All|Succeeded" doc:"The databases of its runs: All, those of the target groups, or Succeeded, those of them on which the other jobs succeeded."`
	Enabled bool     `json:"enabled" rule:"default=true" doc:"false: runs that end start nothing."`
}

// Schedule is a named schedule.
type Schedule struct {
	Name           string `json:"name" rule:"required,max=128" doc:"Name; unique within the job."`
	Cron5          JSON   `json:"cron5" rule:"one=schedule" doc:"Five fields, as in crontab: \"0 2 * * *\"."`
	Cron6          JSON   `json:"cron6" rule:"one=schedule" doc:"Six fields, with seconds."`
	Quartz         JSON   `json:"quartz" rule:"one=schedule" doc:"An expression of Quartz."`
	RRule          JSON   `json:"rrule" rule:"one=schedule" doc:"A recurrence rule of RFC 5545."`
	Elastic        JSON   `json:"elastic" rule:"one=schedule" doc:"An interval, as in Azure Elastic Jobs."`
	AzureScheduler JSON   `json:"azure_scheduler" rule:"one=schedule" doc:"A schedule of Azure Scheduler."`
	SAP            JSON   `json:"sap" rule:"one=schedule" doc:"A schedule of SAP Job Scheduling."`
	model.ScheduleSettings
	Parameters JSON `json:"parameters" doc:"Parameters of its runs."`
}

// Definition returns the kind of the schedule and its text; both are empty if there is none.
func (s *Schedule) Definition() (kind, spec string) {
	for _, d := range s.definitions() {
		if *d.value != "" {
			return d.kind, string(*d.value)
		}
	}
	return "", ""
}

// SetDefinition sets the field of a kind. It returns false if the kind is unknown.
func (s *Schedule) SetDefinition(kind, spec string) bool {
	for _, d := range s.definitions() {
		if strings.EqualFold(d.kind, kind) {
			*d.value = JSON(spec)
			return true
		}
	}
	return false
}

type definition struct {
	kind  string
	value *JSON
}

func (s *Schedule) definitions() []definition {
	return []definition{
		{"cron5", &s.Cron5}, {"cron6", &s.Cron6}, {"quartz", &s.Quartz}, {"rrule", &s.RRule}, {"elastic", &s.Elastic},
		{"azure-scheduler", &s.AzureScheduler}, {"sap", &s.SAP},
	}
}

// Step is a step of a job.
type Step struct {
	Name            string `json:"name" rule:"required,max=128" doc:"Name; unique within the job."`
	TargetGroup     string `json:"target_group" rule:"max=128" doc:"Target group on which the step runs. An action without one runs once."`
	Credential      string `json:"credential" rule:"max=128" doc:"Credential that runs the step; default: the agent's."`
	Command         Script `json:"command" rule:"one=command" doc:"The T-SQL script, or {file: PATH}. GO lines separate batches."`
	HTTP            JSON   `json:"http" rule:"one=command" doc:"An HTTP request."`
	StorageQueue    JSON   `json:"storage_queue" rule:"one=command" doc:"A message for an Azure Storage queue."`
	ServiceBusQueue JSON   `json:"service_bus_queue" rule:"one=command" doc:"A message for a Service Bus queue."`
	ServiceBusTopic JSON   `json:"service_bus_topic" rule:"one=command" doc:"A message for a Service Bus topic."`
	Process         JSON   `json:"process" rule:"one=command" doc:"A process of the agent's configuration."`
	Drift           JSON   `json:"drift" rule:"one=command" doc:"A comparison of the schemas of the databases; it needs a target group."`
	model.Attempts
	MaxParallelism int     `json:"max_parallelism" rule:"default=0,min=1,max=2147483647" doc:"Maximum number of databases of one elastic pool, or of one server, at once; default: no limit."`
	Output         *Output `json:"output" doc:"Where the first result set is written."`
	After          *Names  `json:"after" doc:"The steps that come before it; [] for none. Default: the step above."`
	model.StepOptions
}

// Settings returns the settings of the step that have a value in any case.
func (s *Step) Settings() model.StepSettings {
	return model.StepSettings{Attempts: s.Attempts, StepOptions: s.StepOptions}
}

// Names are names of steps.
type Names []string

// CommandType returns the type of the step's command, and its text.
func (s *Step) CommandType() (kind, text string) {
	for _, a := range s.actions() {
		if *a.value != "" {
			return a.kind, string(*a.value)
		}
	}
	return "TSql", s.Command.Text
}

// SetCommand sets the field of a type. It returns false if the type is unknown.
func (s *Step) SetCommand(kind, text string) bool {
	if strings.EqualFold(kind, "TSql") {
		s.Command.Text = text
		return true
	}
	for _, a := range s.actions() {
		if strings.EqualFold(a.kind, kind) {
			*a.value = JSON(text)
			return true
		}
	}
	return false
}

func (s *Step) actions() []definition {
	return []definition{
		{"Http", &s.HTTP}, {"StorageQueue", &s.StorageQueue}, {"ServiceBusQueue", &s.ServiceBusQueue},
		{"ServiceBusTopic", &s.ServiceBusTopic}, {"Process", &s.Process}, {"Drift", &s.Drift},
	}
}

// Output is the table that receives a step's first result set.
type Output struct {
	Server         string `json:"server" rule:"required,max=256" doc:"Server of the table."`
	Database       string `json:"database" rule:"required,max=128" doc:"Database of the table."`
	Schema         string `json:"schema" rule:"default=dbo,max=128" doc:"Schema of the table."`
	Table          string `json:"table" rule:"required,max=128" doc:"Name of the table; it is created if it does not exist."`
	Credential     string `json:"credential" rule:"max=128" doc:"Credential that writes; default: the agent's."`
	SubscriptionID string `json:"subscription_id" rule:"max=36" doc:"Azure only; kept and shown."`
	ResourceGroup  string `json:"resource_group" rule:"max=128" doc:"Azure only; kept and shown."`
}

// Limit is the number of targets that run at once.
type Limit = model.Limit

// Alert is a rule: when an alert is raised, and who is told.
type Alert struct {
	Name           string   `json:"name" rule:"required,max=128" doc:"Name of the rule."`
	Description    string   `json:"description" rule:"max=512" doc:"Free text."`
	Condition      string   `json:"condition" rule:"required,enum=RunEnded|TargetsFailed|RunTooLong|RunNotStarted|NoRun|ScheduleFaulted|SchedulePaused|AgentSilent|NoAgent|RolloutStopped|RolloutApprovalWaits|RolloutBakeEnds|RolloutDeadlineNear|TargetsChanged" doc:"When the alert is raised."`
	Job            string   `json:"job" rule:"max=128" doc:"The one job to watch; without job and job_pattern, all jobs."`
	JobPattern     string   `json:"job_pattern" rule:"max=128" doc:"Names of the jobs to watch, with * and ?."`
	Lifecycles     []string `json:"lifecycles" doc:"RunEnded, NoRun: lifecycles of runs. Default of RunEnded: Failed and TimedOut."`
	PercentFailed  *float64 `json:"percent_failed" rule:"min=0,max=100" doc:"TargetsFailed: least share of targets that did not succeed."`
	Factor         *float64 `json:"factor" rule:"min=1,max=1000" doc:"RunTooLong: multiple of the median; default: 2."`
	Runs           *int     `json:"runs" rule:"min=3,max=100" doc:"RunTooLong: number of runs in the median; default: 20."`
	Seconds        *int     `json:"seconds" rule:"min=0,max=2147483647" doc:"Grace period, age, or time before what is watched; the default depends on the condition."`
	Severity       string   `json:"severity" rule:"default=Warning,enum=Info|Warning|Critical" doc:"Severity."`
	Channels       []string `json:"channels" doc:"Names of the channels that are told."`
	Throttle       int      `json:"throttle_seconds" rule:"default=3600,min=0,max=2147483647" doc:"Least time between two notifications about the same subject."`
	Repeat         int      `json:"repeat_seconds" rule:"default=0,min=0,max=2147483647" doc:"Time after which an open alert is notified again; 0: never."`
	NotifyResolved bool     `json:"notify_resolved" rule:"default=true" doc:"Notify when the alert is resolved."`
	Enabled        bool     `json:"enabled" rule:"default=true" doc:"false: the rule raises nothing."`
	PercentChanged *float64 `json:"percent_changed" rule:"min=0,max=1000" doc:"TargetsChanged: least share of the databases of a target group that came or went; default: 10."`
	GroupPattern   string   `json:"target_group_pattern" rule:"max=128" doc:"TargetsChanged: names of the target groups to watch, with * and ?; without it, all."`
}

// Script is a T-SQL script, or the file that has it.
type Script struct {
	Text string
	// File is the path that the document gives, relative to it; empty for a text.
	File string
}

// JSON is a definition that another package reads: a mapping in the file is a JSON text here, with
// its members in their order; a text in the file is that text.
type JSON string

// Scalar is a text, number, true or false as JSON.
type Scalar string

// models has a model of each kind.
var models = map[Kind]func() any{
	KindTargetGroup:  func() any { return new(TargetGroup) },
	KindCalendar:     func() any { return new(Calendar) },
	KindTargetWindow: func() any { return new(TargetWindow) },
	KindAlertChannel: func() any { return new(AlertChannel) },
	KindJob:          func() any { return new(Job) },
	KindLimit:        func() any { return new(Limit) },
	KindAlert:        func() any { return new(Alert) },
}

// Object is a document: an object of a kind.
type Object struct {
	Kind Kind
	// Value is a *TargetGroup, *Calendar, *TargetWindow, *AlertChannel, *Job, *Limit or *Alert.
	Value any
	// Source is where the document begins; its File is empty for an object of a database.
	Source Place
	node   *node
	faulty []string // paths with faults that the document has
}

// isFaulty reports whether a fault may follow from one that the document has: what is faulty has no
// value.
func (o Object) isFaulty(path string) bool {
	within := func(inner, outer string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return slices.ContainsFunc(o.faulty, func(known string) bool {
		if known == "" { // a missing name, for example
			return !strings.ContainsAny(path, ".[")
		}
		return within(path, known) || within(known, path)
	})
}

// Place is a place in a file.
type Place struct {
	File         string
	Line, Column int
}

// Name returns the name of the object. That of a limit has all that identifies it.
func (o Object) Name() string {
	switch v := o.Value.(type) {
	case *TargetGroup:
		return v.Name
	case *Calendar:
		return v.Name
	case *TargetWindow:
		return v.Name
	case *AlertChannel:
		return v.Name
	case *Job:
		return v.Name
	case *Alert:
		return v.Name
	case *Limit:
		if v.Server != "" {
			return v.Scope + " " + v.Name + " on " + v.Server
		}
		return v.Scope + " " + v.Name
	}
	return ""
}

// Key identifies an object: names that differ in case only are the same to the control database.
type Key struct {
	Kind Kind
	Name string
}

// Key returns the object's key.
func (o Object) Key() Key { return Key{o.Kind, strings.ToLower(o.Name())} }
