package elastic

import (
	"context"
	"net/http"
	"reflect"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
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
		{
			ID: "JobTargetPauses_ListByAgent", Method: http.MethodGet, Path: pausePath, Role: rest.RoleReader, Handle: s.listPauses,
			Summary: "Lists the databases that are paused now.", Query: pageParameters,
			Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[list[pauseView]]()},
		},
		{
			ID: "JobTargetPauses_Get", Method: http.MethodGet, Path: pausePath + "/{target}", Role: rest.RoleReader, Handle: s.getPause,
			Summary: "Gets the pause of a database.", Answers: map[int]reflect.Type{http.StatusOK: pause},
		},
		{
			ID: "JobTargetPauses_Create", Method: http.MethodPost, Path: pausePath, Role: rest.RoleOperator, Handle: s.pauseTarget,
			Summary: "Pauses a database: no attempt starts on it. A pause that it has already gets the new reason and end.",
			Body:    reflect.TypeFor[pauseInput](), Answers: map[int]reflect.Type{http.StatusOK: pause},
		},
		{
			ID: "JobTargetPauses_Delete", Method: http.MethodDelete, Path: pausePath + "/{target}", Role: rest.RoleOperator, Handle: s.resumeTarget,
			Summary: "Ends the pause of a database.", Answers: map[int]reflect.Type{http.StatusOK: nil, http.StatusNoContent: nil},
		},
		{
			ID: "JobTargetWindows_ListByAgent", Method: http.MethodGet, Path: windowPath, Role: rest.RoleReader, Handle: s.listWindows,
			Summary: "Lists the windows of databases.", Query: pageParameters,
			Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[list[windowView]]()},
		},
		{
			ID: "JobTargetWindows_Get", Method: http.MethodGet, Path: windowPath + "/{window}", Role: rest.RoleReader, Handle: s.getWindow,
			Summary: "Gets a window of databases.", Answers: map[int]reflect.Type{http.StatusOK: window},
		},
		{
			ID: "JobTargetWindows_CreateOrUpdate", Method: http.MethodPut, Path: windowPath + "/{window}", Role: rest.RoleAuthor, Handle: s.putWindow,
			Summary: "Creates or replaces a window of databases: attempts start on them only while it is open.",
			Body:    reflect.TypeFor[windowInput](), Answers: map[int]reflect.Type{http.StatusOK: window},
		},
		{
			ID: "JobTargetWindows_Delete", Method: http.MethodDelete, Path: windowPath + "/{window}", Role: rest.RoleAuthor, Handle: s.deleteWindow,
			Summary: "Deletes a window of databases.", Answers: map[int]reflect.Type{http.StatusOK: nil, http.StatusNoContent: nil},
		},
	}
}

// pauseView describes the pause of a database.
func (p *place) pauseView(one controldb.TargetPause) pauseView {
	name := one.Target.String()
	v := pauseView{envelope: envelope{ID: p.id("targetPauses", name), Name: name, Type: typePause}}
	v.Properties.ServerName, v.Properties.DatabaseName = p.shortServer(one.Server), one.Database
	v.Properties.Reason, v.Properties.PauseTime, v.Properties.PausedBy, v.Properties.EndTime = one.Reason, instant(one.Since), one.By, instant(one.Until)
	return v
}

// windowView describes a window of databases.
func (p *place) windowView(w controldb.TargetWindow) windowView {
	return windowView{
		envelope: envelope{ID: p.id("targetWindows", w.Name), Name: w.Name, Type: typeWindow},
		Properties: windowProperties{
			CalendarName: w.Calendar, Blackouts: w.Blackouts, TagFilter: w.TagFilter, ServerName: p.shortServer(w.Server), DatabaseName: w.Database,
			TimeZone: w.Zone, TimeZoneTag: w.ZoneTag,
		},
	}
}

func (s *Surface) listPauses(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	p, err := readPage[uuid.UUID](r, s.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	rows, err := at.store.TargetPauses(ctx, p.rows())
	if err != nil {
		return nil, err
	}
	key := func(one controldb.TargetPause) uuid.UUID { return one.Target }
	return &rest.Response{Status: http.StatusOK, Body: result(p, rows, at, r, at.id("targetPauses"), key, at.pauseView)}, nil
}

// pause returns the pause that a path names.
func (s *Surface) pause(ctx context.Context, r *rest.Request) (*place, controldb.TargetPause, error) {
	var none controldb.TargetPause
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, none, err
	}
	id, err := uuid.Parse(r.Path["target"])
	if err != nil || len(r.Path["target"]) != 36 {
		return at, none, dberror.ErrTargetNotPaused
	}
	found, err := at.store.TargetPause(ctx, id)
	return at, found, err
}

func (s *Surface) getPause(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, found, err := s.pause(ctx, r)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrTargetNotPaused, typePause, r.Path["target"])
	}
	return &rest.Response{Status: http.StatusOK, Body: at.pauseView(found)}, nil
}

func (s *Surface) pauseTarget(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
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
	wanted := controldb.TargetPause{Target: one.ID, Server: one.Server, Database: one.Database, Reason: p.Reason}
	if p.EndTime != nil {
		wanted.Until = p.EndTime.at
	}
	if err := at.store.PauseTarget(ctx, wanted); err != nil {
		return nil, err
	}
	found, err := at.store.TargetPause(ctx, one.ID)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrTargetNotPaused, typePause, one.ID.String()) // ended meanwhile
	}
	return &rest.Response{Status: http.StatusOK, Body: at.pauseView(found)}, nil
}

func (s *Surface) resumeTarget(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, found, err := s.pause(ctx, r)
	if err == nil {
		err = at.store.ResumeTarget(ctx, found.Server, found.Database, found.Target)
	}
	return deleted(err, dberror.ErrTargetNotPaused)
}

func (s *Surface) listWindows(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerNames(ctx, s, r, "targetWindows", (*controldb.Store).TargetWindows, nil, func(w controldb.TargetWindow) string { return w.Name }, (*place).windowView)
}

func (s *Surface) getWindow(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	return at.answerWindow(ctx, r.Path["window"])
}

// answerWindow returns the answer with a window.
func (p *place) answerWindow(ctx context.Context, name string) (*rest.Response, error) {
	found, err := p.store.TargetWindow(ctx, name)
	if err != nil {
		return nil, orNotFound(err, dberror.ErrTargetWindowNotFound, typeWindow, name)
	}
	return &rest.Response{Status: http.StatusOK, Body: p.windowView(found)}, nil
}

func (s *Surface) putWindow(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
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
	w := controldb.TargetWindow{
		Name: name, Server: server, Database: p.DatabaseName, TagFilter: p.TagFilter, Calendar: p.CalendarName, Blackouts: p.Blackouts,
		Zone: p.TimeZone, ZoneTag: p.TimeZoneTag,
	}
	if server != "" && p.DatabaseName != "" {
		w.Target = targets.TargetID(server, p.DatabaseName)
	}
	if err := at.store.SetTargetWindow(ctx, w); err != nil {
		return nil, err
	}
	return at.answerWindow(ctx, name)
}

func (s *Surface) deleteWindow(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	return deleted(at.store.DeleteTargetWindow(ctx, r.Path["window"]), dberror.ErrTargetWindowNotFound)
}
