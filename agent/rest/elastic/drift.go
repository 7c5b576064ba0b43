package elastic

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/wording"
)

// The history of schemas and baselines are an extension: Elastic Jobs has none. The name of an
// element of the history is the ID of its database, as that of a pause is.

const (
	typeSchema   = "Microsoft.Sql/servers/jobAgents/driftHistory"
	typeBaseline = "Microsoft.Sql/servers/jobAgents/driftBaselines"
	schemaPath   = agentPath + "/driftHistory"
	baselinePath = agentPath + "/driftBaselines"
)

// schemaView is a schema that a database had.
type schemaView struct {
	envelope
	Properties struct {
		ServerName    string     `json:"serverName"`
		DatabaseName  string     `json:"databaseName"`
		Options       string     `json:"options,omitempty"`
		Fingerprint   string     `json:"fingerprint"`
		Objects       int        `json:"objects"`
		FirstSeenTime *timestamp `json:"firstSeenTime,omitempty"`
		LastSeenTime  *timestamp `json:"lastSeenTime,omitempty"`
		IsCurrent     bool       `json:"isCurrent"`
		Changes       string     `json:"changes,omitempty"`
	} `json:"properties"`
}

// baselineInput is the body of PUT baseline. Properties of an answer are ignored, so that a client
// may send back what it has read.
type baselineInput struct {
	envelope
	Properties struct {
		_            struct{} `body:"closed"`
		TargetID     string   `json:"targetId" format:"uuid"`
		ServerName   string   `json:"serverName"`
		DatabaseName string   `json:"databaseName"`
	} `json:"properties" body:"required"`
}

// baselineView is a baseline, with its schema for each options that its database was read with.
type baselineView struct {
	envelope
	Properties struct {
		Source  string               `json:"source"`
		SetTime *timestamp           `json:"setTime,omitempty"`
		SetBy   string               `json:"setBy,omitempty"`
		Schemas []baselineSchemaView `json:"schemas"`
	} `json:"properties"`
}

// baselineSchemaView is the schema of a baseline for some options.
type baselineSchemaView struct {
	Options     string `json:"options,omitempty"`
	Fingerprint string `json:"fingerprint"`
	Objects     int    `json:"objects"`
}

// driftParameters describe the filter of the history.
var driftParameters = append([]rest.Parameter{
	{Name: "targetId", Type: "string", Description: "Only this database."},
	{Name: "isCurrent", Type: "boolean", Description: "If true, only the schemas that databases had when they were last read."},
}, pageParameters...)

// driftOperations are those of the history of schemas, and of baselines.
func (s *Surface) driftOperations() []rest.Operation {
	history, baseline := reflect.TypeFor[list[schemaView]](), reflect.TypeFor[baselineView]()
	return []rest.Operation{
		s.get("JobDriftHistory_ListByAgent", schemaPath, (*place).listSchemas,
			"Lists the schemas that databases had, by the IDs of these, the newest first.", history, driftParameters...),
		s.get("JobDriftHistory_ListByTargetGroup", agentPath+"/targetGroups/{group}/driftHistory", (*place).listSchemas,
			"Lists the schemas of the databases that a target group had last.", history, driftParameters...),
		s.get("JobDriftHistory_ListByJob", jobPath+"/driftHistory", (*place).listSchemas,
			"Lists the schemas of the databases that the target groups of a job's steps of type Drift had last.", history, driftParameters...),
		s.get("JobDriftHistory_Get", schemaPath+"/{target}", (*place).getSchemas, "Gets the schemas that a database had, the newest first.", history, pageParameters...),
		s.get("JobDriftBaselines_ListByAgent", baselinePath, (*place).listBaselines, "Lists the baselines of schemas.", reflect.TypeFor[list[baselineView]]()),
		s.get("JobDriftBaselines_Get", baselinePath+"/{baseline}", (*place).getBaseline, "Gets a baseline of schemas.", baseline),
		s.change(http.MethodPut, "JobDriftBaselines_CreateOrUpdate", baselinePath+"/{baseline}", rest.RoleAuthor, (*place).putBaseline,
			"Creates or replaces a baseline: the schema that a database had when it was last read is declared to be right.", reflect.TypeFor[baselineInput](), baseline),
		s.delete("JobDriftBaselines_Delete", baselinePath+"/{baseline}", rest.RoleAuthor, (*place).deleteBaseline, "Deletes a baseline of schemas."),
	}
}

// schemaView describes a schema that a database had.
func (at *place) schemaView(h drifts.SchemaState) schemaView {
	name := h.Target.String()
	v := schemaView{envelope: envelope{ID: at.id("driftHistory", name), Name: name, Type: typeSchema}}
	v.Properties.ServerName, v.Properties.DatabaseName, v.Properties.Options = at.shortServer(h.Server), h.Database, h.Options
	v.Properties.Fingerprint, v.Properties.Objects = h.Fingerprint.String(), h.Objects
	v.Properties.FirstSeenTime, v.Properties.LastSeenTime = instant(h.FirstSeen), instant(h.LastSeen)
	v.Properties.IsCurrent, v.Properties.Changes = h.Current, h.Changes
	return v
}

// baselineView describes a baseline from its rows.
func (at *place) baselineView(rows []drifts.Baseline) baselineView {
	name := rows[0].Name
	v := baselineView{envelope: envelope{ID: at.id("driftBaselines", name), Name: name, Type: typeBaseline}}
	v.Properties.Source, v.Properties.SetTime, v.Properties.SetBy = rows[0].Source, instant(rows[0].Set), rows[0].By
	for _, one := range rows {
		v.Properties.Schemas = append(v.Properties.Schemas, baselineSchemaView{one.Options, one.Fingerprint.String(), one.Objects})
	}
	return v
}

// readDriftFilter reads the filter of the history from the query, and the place of the list.
func (at *place) readDriftFilter(ctx context.Context, r *rest.Request) (f drifts.Filter, id string, err error) {
	id = at.id("driftHistory")
	switch {
	case r.Path["job"] != "":
		job, err := at.job(ctx, r.Path["job"])
		if err != nil {
			return f, id, err
		}
		f.Job, id = job.Name, at.id("jobs", job.Name, "driftHistory")
	case r.Path["group"] != "":
		g, err := targetgroups.On(at.store).Get(ctx, r.Path["group"])
		if err != nil {
			return f, id, orNotFound(err, dberror.ErrGroupNotFound, typeGroup, r.Path["group"])
		}
		f.Group, id = g.Name, at.id("targetGroups", g.Name, "driftHistory")
	}
	if text, ok := r.Query.Get("targetId"); ok {
		if f.Target, err = uuid.Parse(text); err != nil || len(text) != 36 {
			return f, id, badRequest(codeInvalidBody, "targetId", "The query parameter 'targetId' is invalid: want a GUID.")
		}
	}
	if text, ok := r.Query.Get("isCurrent"); ok {
		if f.Current, err = strconv.ParseBool(text); err != nil {
			return f, id, badRequest(codeInvalidBody, "isCurrent", "The query parameter 'isCurrent' is invalid: want true or false.")
		}
	}
	return f, id, nil
}

func (at *place) listSchemas(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	f, id, err := at.readDriftFilter(ctx, r)
	if err != nil {
		return nil, err
	}
	return at.answerSchemas(ctx, r, f, id)
}

// answerSchemas answers with a page of the history.
func (at *place) answerSchemas(ctx context.Context, r *rest.Request, f drifts.Filter, id string) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[drifts.SchemaStateKey]) (string, []drifts.SchemaState, error) {
		rows, err := drifts.On(at.store).PageOfHistory(ctx, f, page)
		return id, rows, err
	}, drifts.SchemaState.Key, at.schemaView)
}

func (at *place) getSchemas(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["target"]
	id, err := uuid.Parse(name)
	if err != nil || len(name) != 36 {
		return nil, notFound(typeSchema, wording.Clip(name, maxName, wording.Characters))
	}
	f := drifts.Filter{Target: id}
	if known, err := drifts.On(at.store).PageOfHistory(ctx, f, controldb.Page[drifts.SchemaStateKey]{Top: 1}); err != nil {
		return nil, err
	} else if len(known) == 0 {
		return nil, notFound(typeSchema, name)
	}
	return at.answerSchemas(ctx, r, f, at.id("driftHistory", name))
}

func (at *place) listBaselines(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	rows, err := drifts.On(at.store).Baselines(ctx)
	if err != nil {
		return nil, err
	}
	l := list[baselineView]{Value: []baselineView{}}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Name == rows[0].Name {
			n++
		}
		l.Value, rows = append(l.Value, at.baselineView(rows[:n])), rows[n:]
	}
	return &rest.Response{Status: http.StatusOK, Body: l}, nil
}

func (at *place) getBaseline(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return at.answerBaseline(ctx, r.Path["baseline"])
}

func (at *place) answerBaseline(ctx context.Context, name string) (*rest.Response, error) {
	rows, err := drifts.On(at.store).Baseline(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrBaselineNotFound, typeBaseline, name)
	}
	return &rest.Response{Status: http.StatusOK, Body: at.baselineView(rows)}, nil
}

func (at *place) putBaseline(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["baseline"]
	if err := checkName(typeBaseline, name); err != nil {
		return nil, err
	}
	var in baselineInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	var f faults
	in.check(&f, at.id("driftBaselines", name), name, typeBaseline)
	p := in.Properties
	from := at.startTarget(&f, "$.properties", startTarget{TargetID: p.TargetID, ServerName: p.ServerName, DatabaseName: p.DatabaseName})
	if err := f.err(); err != nil {
		return nil, err
	}
	if err := drifts.On(at.store).SetBaseline(ctx, name, from); err != nil {
		return nil, err
	}
	return at.answerBaseline(ctx, name)
}

func (at *place) deleteBaseline(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return deleted(drifts.On(at.store).DeleteBaseline(ctx, r.Path["baseline"]), dberror.ErrBaselineNotFound)
}
