package controldb

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/wording"
)

// AgentProtocol is the version of the contract between agents and the procedures that they call.
// The view jobs_internal.agent_protocols has the versions that the installed schema supports.
const AgentProtocol = 4

// TermID identifies a term in each call of its agent. A database that was restored gives the same
// numbers again, but never the GUID (I16).
type TermID struct {
	// Number increases over time.
	Number int64
	// GUID is made by the agent. The zero value is not compared.
	GUID uuid.UUID
}

// ForTerm adds the arguments that name the caller's term, for the packages below controldb.
func ForTerm(c *call.Call, id TermID) *call.Call {
	c.In("term_id", id.Number)
	if id.GUID != uuid.Nil {
		c.In("term_guid", id.GUID)
	}
	return c
}

// Agent describes an agent when it starts a term.
type Agent struct {
	// ID identifies the agent. It stays the same over restarts if it is configured.
	ID uuid.UUID
	// Host and Version are for display.
	Host, Version string
	// MaxConcurrentTargets is the agent's limit, shown in agent_status.
	MaxConcurrentTargets int
	// Engine identifies what computes the agent's schedules, and ZoneData the source of its zone
	// rules, both for display; see [EngineNotice].
	Engine, ZoneData string
	// CommandTypes are the types of commands that the agent runs; its term gets no other tasks.
	// nil means action.TypeTSQL alone. Every agent also does upkeep.
	CommandTypes []action.Type
	// Modes are the modes of runs that the agent knows; its term gets no tasks of others.
	Modes []RunMode
	// LeavesTasks leaves the tasks of earlier terms to passes, because the control database has
	// refused to hand them over. Passes set aside what it refuses.
	LeavesTasks bool
}

// Term is one period of work of an agent, from its registration to its end or expiry.
type Term struct {
	// ID identifies the term in every later call.
	ID TermID
	// AgentID is the agent that holds the term.
	AgentID uuid.UUID
	// TTL is the time from the start or the latest renewal to the expiry.
	TTL time.Duration
}

// commandTypes returns the argument @command_types of start_term.
func (a Agent) commandTypes() string {
	names := []string{commandTypeUpkeep}
	if a.CommandTypes == nil {
		names = append(names, string(action.TypeTSQL))
	}
	for _, t := range a.CommandTypes {
		names = append(names, string(t))
	}
	for _, m := range a.Modes {
		names = append(names, string(m))
	}
	return strings.Join(names, ",")
}

// StartTerm registers a term that lasts for ttl (rounded up to whole seconds). An earlier term of
// the same agent ends, and its tasks are handed over. It returns [dberror.ErrSchemaVersion] when
// the schema does not support this program's AgentProtocol.
func (s *Store) StartTerm(ctx context.Context, a Agent, ttl time.Duration) (Term, error) {
	var number int64
	guid := uuid.New()
	c := call.New("jobs_internal.start_term").In("agent_id", a.ID).In("host_name", a.Host).In("version", a.Version).
		In("ttl_seconds", call.Seconds(ttl)).
		In("max_concurrent_targets", int64(a.MaxConcurrentTargets)).In("protocol", int64(AgentProtocol)).
		In("command_types", a.commandTypes()).In("term_guid", guid)
	if a.Engine != "" {
		c = c.In("engine", clipped(a.Engine)).In("zone_data", clipped(a.ZoneData))
	}
	if a.LeavesTasks {
		c = c.In("hands_over", false)
	}
	if err := s.conn.Query(ctx, "start a term", c, call.ScanOne(&number)); err != nil {
		return Term{}, err
	}
	return Term{ID: TermID{Number: number, GUID: guid}, AgentID: a.ID, TTL: time.Duration(call.Seconds(ttl)) * time.Second}, nil
}

// RenewTerm extends a term to ttl from the database's current time, and returns how many agents
// have a term. It returns [dberror.ErrTermEnded] when the term has ended; then the caller holds no
// task.
func (s *Store) RenewTerm(ctx context.Context, id TermID, ttl time.Duration) (agents int, err error) {
	var expires time.Time
	err = s.conn.Query(ctx, "renew the term", ForTerm(call.New("jobs_internal.renew_term"), id).In("ttl_seconds", call.Seconds(ttl)),
		call.ScanOne(&expires, &agents))
	return agents, err
}

// ConfirmTerm reports whether a term lasts for a whole lease from now on, although it cannot be
// renewed: the control database can be read and not written. It writes nothing.
func (s *Store) ConfirmTerm(ctx context.Context, id TermID) (confirmed bool, err error) {
	err = s.conn.Query(ctx, "confirm the term", ForTerm(call.New("jobs_internal.confirm_term"), id), call.ScanOne(&confirmed))
	return confirmed, err
}

// EndTerm ends a term. Tasks that it still holds are handed over with an unknown outcome. It
// returns
// [dberror.ErrTermEnded] when the term had ended before.
func (s *Store) EndTerm(ctx context.Context, id TermID) error {
	return s.conn.Exec(ctx, "end the term", ForTerm(call.New("jobs_internal.end_term"), id))
}

// LeaveTerm ends a term as [Store.EndTerm] does, and leaves the tasks that it still holds to the
// next passes: the control database has refused to store something about one of them.
func (s *Store) LeaveTerm(ctx context.Context, id TermID) error {
	return s.conn.Exec(ctx, "end the term", ForTerm(call.New("jobs_internal.end_term"), id).In("hands_over", false))
}

// EnsureSystemJobs creates the system jobs and restores those that were edited.
func (s *Store) EnsureSystemJobs(ctx context.Context) error {
	return s.conn.Exec(ctx, "ensure system jobs", call.New("jobs_internal.ensure_system_jobs"))
}

// RegisterTargets reads a slice of what runs have resolved since the last call, and registers the
// databases (the view jobs.targets). more is false when nothing is left to read, or another session
// reads.
func (s *Store) RegisterTargets(ctx context.Context) (more bool, err error) {
	err = s.conn.Exec(ctx, "register targets", call.New("jobs_internal.register_targets").Out("more", &more))
	return more, err
}

// PurgeBatch marks up to limit runs older than the retention as purged, and deletes records of that
// age in batches. deleted is the number of these runs, which the views no longer show. Call it
// until remaining is false, which means that nothing of that age can be deleted now. It returns
// [dberror.ErrTermEnded] when the term has ended.
func (s *Store) PurgeBatch(ctx context.Context, term TermID, limit int) (deleted int, remaining bool, err error) {
	c := ForTerm(call.New("jobs_internal.purge_history"), term).In("batch_size", int64(limit)).
		Out("deleted", &deleted).
		Out("remaining", &remaining)
	err = s.conn.Exec(ctx, "purge history", c)
	return deleted, remaining, err
}

// DeleteLeftovers deletes rows of purged executions and deleted jobs in batches, each a transaction
// of its own. It returns the number of deleted rows. remaining is false when no more rows can be
// deleted now. remaining with deleted 0 means that another session is deleting.
func (s *Store) DeleteLeftovers(ctx context.Context) (deleted int, remaining bool, err error) {
	c := call.New("jobs_internal.delete_leftovers").Out("deleted", &deleted).Out("remaining", &remaining)
	err = s.conn.Exec(ctx, "delete what was purged", c)
	return deleted, remaining, err
}

// maxEngine is the length of the columns engine and zone_data of jobs_internal.agents.
const maxEngine = 128

// clipped returns the beginning of a text that a column of maxEngine characters can hold.
func clipped(text string) string { return wording.Head(text, maxEngine, wording.UTF16) }
