package elastic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/accounts"
	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
)

const (
	// syncTime is how long PUT, PATCH and DELETE of a job agent wait for the end of the operation
	// before they answer 202.
	syncTime = 2 * time.Second
	// operationPollAfter is how long clients wait before they ask again about an operation, unless
	// the configuration says otherwise.
	operationPollAfter = 15 * time.Second
	// installTime bounds the installation of the control schema in a new database.
	installTime = 10 * time.Minute
	// copyAge is how old a copy of a job agent may be that requests below the agent rely on.
	copyAge = time.Second
	// maxReads bounds the control databases that one request reads at a time.
	maxReads = 8
)

// Identity is an identity that job agents may have.
type Identity struct{ PrincipalID, ClientID string }

// agents serves job agents and the operations on them (A1 to A5, R-14). It is safe for concurrent
// use.
type agents struct {
	directory  *rest.Directory
	identities map[string]Identity // by resource id in lower case
	// pollAfter is the value of Retry-After while an operation is in progress; no header below a
	// second.
	pollAfter time.Duration
	// syncTime is the constant, except in tests.
	syncTime time.Duration
	log      *zap.Logger

	mu sync.Mutex
	// copies are the job agents as they were last read.
	copies map[*rest.Entry]agentCopy
	// begun says in which database an operation was begun. It only saves queries.
	begun map[uuid.UUID]*rest.Entry
}

// agentCopy is a job agent as it was read at some time.
type agentCopy struct {
	agent account.JobAgent
	at    time.Time
}

// newAgents serves the job agents of the control databases in directory. identities are the
// identities that job agents may have, by resource id.
func newAgents(directory *rest.Directory, identities map[string]Identity, log *zap.Logger) *agents {
	a := &agents{
		directory: directory, identities: map[string]Identity{}, pollAfter: operationPollAfter, syncTime: syncTime, log: log,
		copies: map[*rest.Entry]agentCopy{}, begun: map[uuid.UUID]*rest.Entry{},
	}
	for id, one := range identities {
		a.identities[strings.ToLower(id)] = one
	}
	return a
}

const (
	agentServerPath = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}/providers/Microsoft.Sql/servers/{server}"
	agentPath       = agentServerPath + "/jobAgents/{agent}"
	typeAgent       = "Microsoft.Sql/servers/jobAgents"
)

// operations returns the operations A1 to A5 and those on long-running operations.
func (a *agents) operations() []rest.Operation {
	shape := func(statuses ...int) map[int]reflect.Type {
		m := map[int]reflect.Type{}
		for _, s := range statuses {
			m[s] = reflect.TypeFor[agentView]()
		}
		m[http.StatusAccepted] = reflect.TypeFor[acceptedView]()
		return m
	}
	list := []rest.Operation{
		{
			ID: "JobAgents_ListByServer", Method: http.MethodGet, Path: agentServerPath + "/jobAgents", Role: rest.RoleReader, Handle: a.list,
			Summary: "Lists the job agents of a server.", Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[agentList]()},
		},
		{
			ID: "JobAgents_Get", Method: http.MethodGet, Path: agentPath, Role: rest.RoleReader, Handle: a.get,
			Summary: "Gets a job agent.", Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[agentView]()},
		},
		{
			ID: "JobAgents_CreateOrUpdate", Headers: []string{"Location", "Azure-AsyncOperation", "Retry-After"}, Method: http.MethodPut, Path: agentPath, Role: rest.RoleAdmin, Handle: a.put,
			Summary: "Creates or replaces a job agent.", Body: reflect.TypeFor[agentBody](), Answers: shape(http.StatusOK, http.StatusCreated),
		},
		{
			ID: "JobAgents_Update", Headers: []string{"Location", "Azure-AsyncOperation", "Retry-After"}, Method: http.MethodPatch, Path: agentPath, Role: rest.RoleAdmin, Handle: a.patch,
			Summary: "Changes a job agent.", Body: reflect.TypeFor[agentPatch](), Answers: shape(http.StatusOK),
		},
		{
			ID: "JobAgents_Delete", Headers: []string{"Location", "Azure-AsyncOperation", "Retry-After"}, Method: http.MethodDelete, Path: agentPath, Role: rest.RoleAdmin, Handle: a.delete,
			Summary: "Deletes a job agent. Its jobs, schedules and history are left in the database.",
			Answers: map[int]reflect.Type{
				http.StatusOK: nil, http.StatusNoContent: nil, http.StatusAccepted: reflect.TypeFor[acceptedView](),
			},
		},
	}
	for _, scope := range []struct{ suffix, path string }{
		{"", "/subscriptions/{subscription}/resourceGroups/{resourceGroup}"}, {"BySubscription", "/subscriptions/{subscription}"},
	} {
		base := scope.path + "/providers/Microsoft.Sql/locations/{location}/"
		list = append(list, rest.Operation{
			ID: "JobAgents_OperationStatus" + scope.suffix, Headers: []string{"Retry-After"}, Method: http.MethodGet, Path: base + "jobAgentAzureAsyncOperation/{operation}",
			Role: rest.RoleReader, Handle: a.operationStatus, Summary: "Gets the status of an operation on a job agent.",
			Answers: map[int]reflect.Type{http.StatusOK: reflect.TypeFor[operationView]()},
		}, rest.Operation{
			ID: "JobAgents_OperationResult" + scope.suffix, Headers: []string{"Location", "Retry-After"}, Method: http.MethodGet, Path: base + "jobAgentOperationResults/{operation}",
			Role: rest.RoleReader, Handle: a.operationResult, Summary: "Gets the result of an operation on a job agent.",
			Answers: map[int]reflect.Type{
				http.StatusOK: reflect.TypeFor[agentView](), http.StatusAccepted: reflect.TypeFor[acceptedView](), http.StatusNoContent: nil,
			},
		})
	}
	return list
}

// read reads the job agent of an entry. Without an answer of the database it returns the last copy
// as Disabled, or the error if there is none. A database of an implicit agent has that agent.
func (a *agents) read(ctx context.Context, e *rest.Entry) (account.JobAgent, error) {
	agent, err := account.On(e.Store).Read(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.copies[e] = agentCopy{agent: agent, at: time.Now()}
	case errors.Is(err, dberror.ErrNotInstalled):
		delete(a.copies, e)
		return account.JobAgent{State: account.AgentDeleted}, nil
	default:
		last, ok := a.copies[e]
		if !ok || !away(err) {
			return agent, err
		}
		agent = last.agent
		if agent.State.Exists() || agent.State == account.AgentNone {
			agent = implicit(agent, e)
			agent.State = account.AgentDisabled
		}
		return agent, nil
	}
	return implicit(agent, e), nil
}

// away reports whether an error means that the control database does not answer, or is not of a
// version that this program understands.
func away(err error) bool {
	return slices.ContainsFunc([]error{
		dberror.ErrUnreachable, dberror.ErrLoginFailed, dberror.ErrSchemaVersion, context.DeadlineExceeded,
	}, func(one error) bool { return errors.Is(err, one) })
}

// implicit adds the name and the defaults of an implicit agent: it is Ready, although the
// database has no row. The caller tells it by the state [account.AgentNone].
func implicit(agent account.JobAgent, e *rest.Entry) account.JobAgent {
	if agent.State == account.AgentNone && e.ImplicitAgent != "" {
		agent.Name, agent.SKU, agent.Capacity = e.ImplicitAgent, "JA100", 100
	}
	return agent
}

// entries returns the entries of the server in a path.
func (a *agents) entries(r *rest.Request) ([]*rest.Entry, error) {
	return a.directory.InServer(r.Path["subscription"], r.Path["resourceGroup"], r.Path["server"])
}

// found is a job agent and its place.
type found struct {
	entry *rest.Entry
	agent account.JobAgent
}

// readAll reads the job agents of entries. Entries whose database fails are left out, and the first
// of their errors is returned as well.
func (a *agents) readAll(ctx context.Context, entries []*rest.Entry) (list []found, failed error) {
	results := make([]found, len(entries))
	errs := make([]error, len(entries))
	var readers sync.WaitGroup
	slots := make(chan struct{}, maxReads)
	for i, e := range entries {
		slots <- struct{}{}
		readers.Go(func() { // ends with the call
			defer func() { <-slots }()
			agent, err := a.read(ctx, e)
			results[i], errs[i] = found{entry: e, agent: agent}, err
		})
	}
	readers.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
			list = append(list, results[i])
		case failed == nil:
			failed = err
		}
	}
	return list, failed
}

// find returns the job agent of a request's path, read now. ok is false if there is none.
func (a *agents) find(ctx context.Context, r *rest.Request) (f found, ok bool, err error) {
	entries, err := a.entries(r)
	if err != nil {
		return found{}, false, err
	}
	name := r.Path["agent"]
	// The database that had the agent when it was last read is asked alone.
	for _, e := range entries {
		if last, known := a.copyOf(e, 0); known && strings.EqualFold(last.Name, name) {
			if agent, err := a.read(ctx, e); err == nil && strings.EqualFold(agent.Name, name) {
				return found{entry: e, agent: agent}, true, nil
			}
		}
	}
	list, failed := a.readAll(ctx, entries)
	for _, one := range list {
		if strings.EqualFold(one.agent.Name, name) {
			return one, true, nil
		}
	}
	return found{}, false, failed // the agent may be in a database that failed
}

// copyOf returns the last copy of the job agent of an entry, unless it is older than age; 0 means
// any age.
func (a *agents) copyOf(e *rest.Entry, age time.Duration) (account.JobAgent, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.copies[e]
	if !ok || age > 0 && time.Since(last.at) > age {
		return account.JobAgent{}, false
	}
	return implicit(last.agent, e), true
}

// Agent returns the control database and the job agent of a request below a job agent, as it was at
// most a second ago. The error is a 404 JobAgentNotFound if there is none. Whether its state
// permits a change is decided by the database.
func (a *agents) Agent(ctx context.Context, r *rest.Request) (*rest.Entry, account.JobAgent, error) {
	entries, err := a.entries(r)
	if err != nil {
		return nil, account.JobAgent{}, err
	}
	for _, e := range entries {
		if last, ok := a.copyOf(e, copyAge); ok && strings.EqualFold(last.Name, r.Path["agent"]) {
			return e, last, nil
		}
	}
	f, ok, err := a.find(ctx, r)
	if err == nil && !ok {
		err = &rest.Error{
			Status: http.StatusNotFound, Code: "JobAgentNotFound",
			Message: fmt.Sprintf("The job agent '%s' was not found on the server '%s'.", r.Path["agent"], r.Path["server"]),
		}
	}
	return f.entry, f.agent, err
}

// list handles A1.
func (a *agents) list(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := a.entries(r)
	if err != nil {
		return nil, err
	}
	list, failed := a.readAll(ctx, entries)
	if len(list) == 0 && failed != nil {
		return nil, failed
	}
	if failed != nil {
		a.log.Warn("a control database is left out of the list of job agents", zap.Error(failed))
	}
	views := agentList{Value: []agentView{}}
	for _, one := range list {
		if one.agent.Name != "" {
			views.Value = append(views.Value, a.view(one))
		}
	}
	slices.SortFunc(views.Value, func(x, y agentView) int { return strings.Compare(strings.ToLower(x.Name), strings.ToLower(y.Name)) })
	return &rest.Response{Status: http.StatusOK, Body: views}, nil
}

// get handles A2.
func (a *agents) get(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	f, ok, err := a.find(ctx, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, agentAbsent(r)
	}
	return &rest.Response{Status: http.StatusOK, Body: a.view(f)}, nil
}

// agentAbsent is the error about a job agent that does not exist, as the gateway of Azure gives it.
func agentAbsent(r *rest.Request) error {
	return &rest.Error{
		Status: http.StatusNotFound, Code: "ResourceNotFound", Header: http.Header{"X-Ms-Failure-Cause": {"gateway"}},
		Message: fmt.Sprintf("The Resource 'Microsoft.Sql/servers/%s/jobAgents/%s' under resource group '%s' was not found.",
			r.Path["server"], r.Path["agent"], r.Path["resourceGroup"]),
	}
}

// put handles A3.
func (a *agents) put(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	entries, err := a.entries(r)
	if err != nil {
		return nil, err
	}
	e, change, err := a.readPut(r, entries)
	if err != nil {
		return nil, err
	}
	// The same name in another database: databaseId cannot be changed.
	list, failed := a.readAll(ctx, entries)
	for _, one := range list {
		if one.entry != e && strings.EqualFold(one.agent.Name, change.Name) && one.agent.State != account.AgentNone {
			return nil, agentFault(http.StatusNotFound, "PropertyChangeUnsupported", "$.properties.databaseId",
				"The database of the job agent '%s' cannot be changed: it is '%s'.", one.agent.Name, one.entry.Name)
		}
		// Clients hold the implicit agent for a resource: another name would take all its
		// URLs away.
		if one.entry == e && one.agent.State == account.AgentNone && e.ImplicitAgent != "" && !strings.EqualFold(change.Name, e.ImplicitAgent) {
			return nil, agentFault(http.StatusBadRequest, "JobAgentDatabaseAlreadyLinked", "$.properties.databaseId",
				"The database '%s' already has the job agent '%s'. Use this name, or set implicit_agent of the database to '%s' in the front's configuration.",
				e.Name, e.ImplicitAgent, change.Name)
		}
	}
	if !slices.ContainsFunc(list, func(f found) bool { return f.entry == e }) {
		return nil, failed // whether it has an implicit agent is not known
	}
	installing, cancel := context.WithTimeout(context.WithoutCancel(ctx), installTime)
	defer cancel()
	if err := accounts.Prepare(installing, e.Store, e.Install); err != nil {
		return nil, unprepared(e, err)
	}
	response, err := a.apply(ctx, r, e, change)
	if err == nil && response.Status == http.StatusCreated && strings.EqualFold(change.Name, e.ImplicitAgent) && wasImplicit(list, e) {
		response.Status = http.StatusOK // clients have seen the implicit agent
	}
	return response, err
}

// wasImplicit reports whether an entry had an implicit agent.
func wasImplicit(list []found, e *rest.Entry) bool {
	return slices.ContainsFunc(list, func(f found) bool { return f.entry == e && f.agent.State == account.AgentNone })
}

// unprepared translates the error of [accounts.Prepare].
func unprepared(e *rest.Entry, err error) error {
	switch {
	case errors.Is(err, dberror.ErrNotInstalled):
		return agentFault(http.StatusConflict, "ElasticJobAgentOperationUnavailable", "$.properties.databaseId",
			"The database '%s' has no control schema, and its configuration does not permit to install it. Run jobagent db install, or set install.", e.Name)
	case errors.Is(err, dberror.ErrSchemaVersion):
		return agentFault(http.StatusConflict, "ElasticJobAgentOperationUnavailable", "$.properties.databaseId",
			"The control schema of the database '%s' is of another version. Run jobagent db migrate, or set install.", e.Name)
	}
	var unfit *doctor.UnfitError
	if errors.As(err, &unfit) {
		return agentFault(http.StatusBadRequest, "JobAgentDatabaseEditionUnsupported", "$.properties.databaseId",
			"The database '%s' cannot hold a job agent: %v", e.Name, unfit)
	}
	return err
}

// apply begins the change of a job agent, waits for a while, and answers.
func (a *agents) apply(ctx context.Context, r *rest.Request, e *rest.Entry, change account.Change) (*rest.Response, error) {
	var err error
	if change.Operation, err = uuid.NewRandom(); err != nil {
		return nil, fmt.Errorf("make the id of an operation: %w", err)
	}
	created, id, err := account.On(e.Store).Set(ctx, change)
	a.forget(e)
	if a.begunAnyway(ctx, e, change.Operation, err) {
		id, err = change.Operation, nil
	}
	if err != nil {
		return nil, agentError(err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	if id != uuid.Nil {
		operation := a.await(ctx, e, id, account.OperationUpsert)
		if response, err := a.unfinished(r, e, operation); response != nil || err != nil {
			return response, err
		}
	}
	agent, err := a.read(ctx, e)
	if err != nil {
		return nil, err
	}
	return &rest.Response{Status: status, Body: a.view(found{entry: e, agent: agent})}, nil
}

// patch handles A4.
func (a *agents) patch(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	f, ok, err := a.find(ctx, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, agentAbsent(r)
	}
	change, err := a.readPatch(r)
	if err != nil {
		return nil, err
	}
	change.Name = f.agent.Name
	if f.agent.State == account.AgentNone { // an implicit agent gets its row
		change.Location = &f.entry.Location
	} else {
		change.MustExist = true
	}
	response, err := a.apply(ctx, r, f.entry, change)
	if err == nil && response.Status == http.StatusCreated {
		response.Status = http.StatusOK
	}
	return response, err
}

// delete handles A5.
func (a *agents) delete(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	f, ok, err := a.find(ctx, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	if f.agent.State == account.AgentNone { // an implicit agent gets its row first: its deletion must be recorded
		if response, err := a.apply(ctx, r, f.entry, account.Change{Name: f.agent.Name, Location: &f.entry.Location}); err != nil ||
			response.Status == http.StatusAccepted {
			return response, err
		}
	}
	operationID, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("make the id of an operation: %w", err)
	}
	id, err := account.On(f.entry.Store).Delete(ctx, f.agent.Name, operationID)
	a.forget(f.entry)
	if a.begunAnyway(ctx, f.entry, operationID, err) {
		id, err = operationID, nil
	}
	if errors.Is(err, dberror.ErrAgentNotFound) {
		return &rest.Response{Status: http.StatusNoContent}, nil
	}
	if err != nil {
		return nil, agentError(err)
	}
	operation := a.await(ctx, f.entry, id, account.OperationDrop)
	a.forget(f.entry)
	if response, err := a.unfinished(r, f.entry, operation); response != nil || err != nil {
		return response, err
	}
	return &rest.Response{Status: http.StatusOK}, nil
}

// begunAnyway reports whether an operation was begun although the answer of the database was lost:
// what was committed is not answered with 503.
func (a *agents) begunAnyway(ctx context.Context, e *rest.Entry, id uuid.UUID, err error) bool {
	if err == nil || !errors.Is(err, dberror.ErrUnreachable) {
		return false
	}
	_, ok, err := account.On(e.Store).Operation(ctx, id)
	return err == nil && ok
}

// forget drops the copy of an entry's job agent, which has changed. The name stays known.
func (a *agents) forget(e *rest.Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last, ok := a.copies[e]; ok {
		a.copies[e] = agentCopy{agent: last.agent}
	}
}

// await waits for an operation for a while. The change is committed, so an error of the database
// must not look as if it was not: then the operation is in progress.
func (a *agents) await(ctx context.Context, e *rest.Entry, id uuid.UUID, kind string) account.Operation {
	a.remember(id, e)
	begun := time.Now()
	waiting, cancel := context.WithTimeout(ctx, a.syncTime)
	defer cancel()
	operation, err := accounts.Wait(waiting, e.Store, id, nil)
	if err != nil {
		a.log.Warn("could not carry out an operation on a job agent; it is continued later", zap.Stringer("operation", id), zap.Error(err))
	}
	if operation.StartTime.IsZero() { // it could not be read
		operation.Kind, operation.StartTime = kind, begun
	}
	return operation
}
