package elastic

import (
	"context"
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// Pauses and windows of databases are an extension: Elastic Jobs has none. The name of a pause is
// the ID of its database, as that of a target of a run is.

const (
	typePause  = "Microsoft.Sql/servers/jobAgents/targetPauses"
	typeWindow = "Microsoft.Sql/servers/jobAgents/targetWindows"
	pausePath  = agentPath + "/targetPauses"
	windowPath = agentPath + "/targetWindows"
)

// pauseInput is the body of POST target pause.
type pauseInput struct {
	_          struct{} `body:"closed"`
	Properties struct {
		_            struct{}   `body:"closed"`
		TargetID     string     `json:"targetId" format:"uuid"`
		ServerName   string     `json:"serverName"`
		DatabaseName string     `json:"databaseName"`
		Reason       string     `json:"reason"`
		EndTime      *timestamp `json:"endTime"` // absent: somebody has to end it
	} `json:"properties" body:"required"`
}

// pauseView is a pause of a database.
type pauseView struct {
	envelope
	Properties struct {
		ServerName   string     `json:"serverName"`
		DatabaseName string     `json:"databaseName"`
		Reason       string     `json:"reason,omitempty"`
		PauseTime    *timestamp `json:"pauseTime,omitempty"`
		PausedBy     string     `json:"pausedBy,omitempty"`
		EndTime      *timestamp `json:"endTime,omitempty"`
	} `json:"properties"`
}

// windowProperties are those of a window of databases, in a body and in an answer.
type windowProperties struct {
	CalendarName string `json:"calendarName,omitempty"`
	Blackouts    string `json:"blackouts,omitempty"`
	TagFilter    string `json:"tagFilter,omitempty"`
	ServerName   string `json:"serverName,omitempty"`
	DatabaseName string `json:"databaseName,omitempty"`
	TimeZone     string `json:"timeZone,omitempty"`
	TimeZoneTag  string `json:"timeZoneTag,omitempty"`
}

// windowInput is the body of PUT target window.
type windowInput struct {
	envelope
	Properties windowProperties `json:"properties" body:"required"`
}

// windowView is a window of databases in an answer.
type windowView struct {
	envelope
	Properties windowProperties `json:"properties"`
}

// holdOperations are those of pauses and windows of databases.
func (s *Surface) holdOperations() []rest.Operation {
	pause, window := reflect.TypeFor[pauseView](), reflect.TypeFor[windowView]()
	return []rest.Operation{
		s.get("JobTargetPauses_ListByAgent", pausePath, (*place).listPauses,
			"Lists the databases that are paused now.", reflect.TypeFor[list[pauseView]](), pageParameters...),
		s.get("JobTargetPauses_Get", pausePath+"/{target}", (*place).getPause, "Gets the pause of a database.", pause),
		s.change(http.MethodPost, "JobTargetPauses_Create", pausePath, rest.RoleOperator, (*place).pauseTarget,
			"Pauses a database: no attempt starts on it. A pause that it has already gets the new reason and end.", reflect.TypeFor[pauseInput](), pause),
		s.delete("JobTargetPauses_Delete", pausePath+"/{target}", rest.RoleOperator, (*place).resumeTarget, "Ends the pause of a database."),
		s.get("JobTargetWindows_ListByAgent", windowPath, (*place).listWindows, "Lists the windows of databases.", reflect.TypeFor[list[windowView]](), pageParameters...),
		s.get("JobTargetWindows_Get", windowPath+"/{window}", (*place).getWindow, "Gets a window of databases.", window),
		s.change(http.MethodPut, "JobTargetWindows_CreateOrUpdate", windowPath+"/{window}", rest.RoleAuthor, (*place).putWindow,
			"Creates or replaces a window of databases: attempts start on them only while it is open.", reflect.TypeFor[windowInput](), window),
		s.delete("JobTargetWindows_Delete", windowPath+"/{window}", rest.RoleAuthor, (*place).deleteWindow, "Deletes a window of databases."),
	}
}

// pauseView describes the pause of a database.
func (at *place) pauseView(one holds.Pause) pauseView {
	name := one.Target.String()
	v := pauseView{envelope: envelope{ID: at.id("targetPauses", name), Name: name, Type: typePause}}
	v.Properties.ServerName, v.Properties.DatabaseName = at.shortServer(one.Server), one.Database
	v.Properties.Reason, v.Properties.PauseTime, v.Properties.PausedBy, v.Properties.EndTime = one.Reason, instant(one.Since), one.By, instant(one.Until)
	return v
}

// windowView describes a window of databases.
func (at *place) windowView(w holds.Window) windowView {
	return windowView{
		envelope: envelope{ID: at.id("targetWindows", w.Name), Name: w.Name, Type: typeWindow},
		Properties: windowProperties{
			CalendarName: w.Calendar, Blackouts: w.Blackouts, TagFilter: w.TagFilter, ServerName: at.shortServer(w.Server), DatabaseName: w.Database,
			TimeZone: w.Zone, TimeZoneTag: w.ZoneTag,
		},
	}
}

func (at *place) listPauses(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[uuid.UUID]) (string, []holds.Pause, error) {
		rows, err := holds.On(at.store).Pauses(ctx, page)
		return at.id("targetPauses"), rows, err
	}, func(one holds.Pause) uuid.UUID { return one.Target }, at.pauseView)
}

// pause returns the pause that a path names.
func (at *place) pause(ctx context.Context, r *rest.Request) (holds.Pause, error) {
	id, err := uuid.Parse(r.Path["target"])
	if err != nil || len(r.Path["target"]) != 36 {
		return holds.Pause{}, dberror.ErrTargetNotPaused
	}
	return holds.On(at.store).Pause(ctx, id)
}

func (at *place) getPause(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	found, err := at.pause(ctx, r)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrTargetNotPaused, typePause, r.Path["target"])
	}
	return &rest.Response{Status: http.StatusOK, Body: at.pauseView(found)}, nil
}

func (at *place) pauseTarget(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	var in pauseInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	var f faults
	p := in.Properties
	one := at.startTarget(&f, "$.properties", startTarget{TargetID: p.TargetID, ServerName: p.ServerName, DatabaseName: p.DatabaseName})
	if err := f.err(); err != nil {
		return nil, err
	}
	wanted := holds.Pause{Target: one.ID, Server: one.Server, Database: one.Database, Reason: p.Reason}
	if p.EndTime != nil {
		wanted.Until = p.EndTime.at
	}
	if err := holds.On(at.store).SetPause(ctx, wanted); err != nil {
		return nil, err
	}
	found, err := holds.On(at.store).Pause(ctx, one.ID)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrTargetNotPaused, typePause, one.ID.String()) // ended meanwhile
	}
	return &rest.Response{Status: http.StatusOK, Body: at.pauseView(found)}, nil
}

func (at *place) resumeTarget(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	found, err := at.pause(ctx, r)
	if err == nil {
		err = holds.On(at.store).Resume(ctx, found.Server, found.Database, found.Target)
	}
	return deleted(err, dberror.ErrTargetNotPaused)
}

func (at *place) listWindows(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerNames(ctx, at, r, "targetWindows", holds.On(at.store).Windows, nil, func(w holds.Window) string { return w.Name }, at.windowView)
}

func (at *place) getWindow(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return at.answerWindow(ctx, r.Path["window"])
}

func (at *place) answerWindow(ctx context.Context, name string) (*rest.Response, error) {
	found, err := holds.On(at.store).Window(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrTargetWindowNotFound, typeWindow, name)
	}
	return &rest.Response{Status: http.StatusOK, Body: at.windowView(found)}, nil
}

func (at *place) putWindow(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name := r.Path["window"]
	if err := checkName(typeWindow, name); err != nil {
		return nil, err
	}
	var in windowInput
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	var f faults
	in.check(&f, at.id("targetWindows", name), name, typeWindow)
	p := in.Properties
	server := at.serverOf(p.ServerName)
	for _, one := range [][2]string{
		{"calendarName", p.CalendarName}, {"blackouts", p.Blackouts}, {"serverName", server}, {"databaseName", p.DatabaseName},
		{"timeZone", p.TimeZone}, {"timeZoneTag", p.TimeZoneTag},
	} {
		f.short("$.properties."+one[0], one[1], maxName)
	}
	f.short("$.properties.tagFilter", p.TagFilter, model.MaxTagFilter)
	if err := f.err(); err != nil {
		return nil, err
	}
	w := holds.Window{
		Name: name, Server: server, Database: p.DatabaseName, TagFilter: p.TagFilter, Calendar: p.CalendarName, Blackouts: p.Blackouts,
		Zone: p.TimeZone, ZoneTag: p.TimeZoneTag,
	}
	if server != "" && p.DatabaseName != "" {
		w.Target = targets.TargetID(server, p.DatabaseName)
	}
	if err := holds.On(at.store).SetWindow(ctx, w); err != nil {
		return nil, err
	}
	return at.answerWindow(ctx, name)
}

func (at *place) deleteWindow(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return deleted(holds.On(at.store).DeleteWindow(ctx, r.Path["window"]), dberror.ErrTargetWindowNotFound)
}
