package operate

import (
	"context"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/summary"
)

// The topics of the page: with the names of agents for operators, and without for others.
const (
	topicAgents = "agents"
	topicCounts = "agents-counts"
)

// agentBlocks are updated live; the first one also for readers.
var agentBlocks = []string{"agents-figures", "agents-list", "agents-tasks"}

// Sizes of the lists.
const (
	maxAgents = 200
	maxTasks  = 200
)

// agentsData is what the page of agents shows.
type agentsData struct {
	clock
	O summary.Overview
	// Operator says that the viewer may see the agents; the lists are empty otherwise.
	Operator bool
	List     []fleet.Agent
	Tasks    []fleet.Task
	// Holders are the sessions that hold the lock of passes while executions do not advance.
	Holders []controldb.LockHolder

	JobAgent   account.JobAgent
	Operations []account.Operation
}

func agentsPage(ctx context.Context, r *page.Request) (*page.View, error) {
	read, topic := readCounts, topicCounts
	if r.May(rest.RoleOperator) {
		read, topic = readAgents, topicAgents
	}
	d, err := read(ctx, r.Store)
	if err != nil {
		return nil, err
	}
	d.ages = true
	if d.JobAgent, err = account.On(r.Store).Read(ctx); err != nil {
		return nil, err
	}
	if d.Operations, err = account.On(r.Store).Operations(ctx); err != nil {
		return nil, err
	}
	v := &page.View{Title: "Agents", Nav: "agents", Template: "agents", Data: d, Topic: topic, Equivalents: page.CLI("agent", "status")}
	if d.Operator {
		v.Equivalents = append(v.Equivalents,
			page.Equivalent{Door: page.DoorTSQL, Text: "SELECT * FROM jobs_internal.agent_status;\nSELECT * FROM jobs_internal.agent_tasks;"})
	} else {
		v.Equivalents = append(v.Equivalents, page.Equivalent{Door: page.DoorTSQL, Text: "SELECT * FROM jobs.live_agents;"})
	}
	return v, nil
}

// readCounts reads what readers may see.
func readCounts(ctx context.Context, store *controldb.Store) (*agentsData, error) {
	o, err := summary.On(store).Overview(ctx, 1)
	if err != nil {
		return nil, err
	}
	return &agentsData{clock: clock{Now: o.Now}, O: o}, nil
}

// readAgents reads what operators may see.
func readAgents(ctx context.Context, store *controldb.Store) (*agentsData, error) {
	d, err := readCounts(ctx, store)
	if err != nil {
		return nil, err
	}
	d.Operator = true
	if d.List, err = fleet.On(store).Recent(ctx, maxAgents+1); err != nil {
		return nil, err
	}
	if d.Tasks, err = fleet.On(store).Tasks(ctx, maxTasks+1); err != nil {
		return nil, err
	}
	if !d.O.AdvanceSkippedSince.IsZero() {
		// The login of the front may not see locks; the page then says how to find the holder.
		if holders, visible, err := store.AdvanceLockHolders(ctx); err == nil && visible {
			d.Holders = holders
		}
	}
	return d, nil
}

// open returns the function of a topic that makes sources of blocks.
func open[T any](read func(context.Context, *controldb.Store) (T, error), blocks ...string) func(string) (live.Source, error) {
	return func(string) (live.Source, error) {
		return live.Fragments(name, func(ctx context.Context, store *controldb.Store) (any, error) { return read(ctx, store) }, blocks...), nil
	}
}

// Shown are the agents that the page lists.
func (d *agentsData) Shown() []fleet.Agent { return d.List[:min(len(d.List), maxAgents)] }

// ShownTasks are the tasks that the page lists.
func (d *agentsData) ShownTasks() []fleet.Task { return d.Tasks[:min(len(d.Tasks), maxTasks)] }

// More reports whether there are more agents than the page lists, and MoreTasks the same of tasks.
func (d *agentsData) More() bool { return len(d.List) > maxAgents }

// MoreTasks is described at More.
func (d *agentsData) MoreTasks() bool { return len(d.Tasks) > maxTasks }

// Types lists the types of commands that an agent runs, without upkeep, which every agent does.
func (d *agentsData) Types(a fleet.Agent) []string {
	var list []string
	for t := range strings.SplitSeq(a.CommandTypes, ",") {
		if t = strings.TrimSpace(t); t != "" && t != "Upkeep" {
			list = append(list, t)
		}
	}
	return list
}

// Engines says that live agents compute schedules differently; empty if they do not.
func (d *agentsData) Engines() string {
	found, _ := fleet.EngineNotice(d.List)
	return found
}

// EngineAdvice says what different engines mean, and what to do.
func (d *agentsData) EngineAdvice() string {
	_, advice := fleet.EngineNotice(d.List)
	return "So " + fleet.EngineEffect + ". " + advice
}

// Until is until when a term that is over lasted.
func (d *agentsData) Until(a fleet.Agent) time.Time {
	if !a.EndedAt.IsZero() && a.EndedAt.Before(a.ExpiresAt) {
		return a.EndedAt
	}
	return a.ExpiresAt
}

// EndOf says how a term ended.
func (d *agentsData) EndOf(a fleet.Agent) string {
	if a.EndReason == "" {
		return "Expired"
	}
	return a.EndReason
}

// Operation says in words what an operation on the job agent does.
func (d *agentsData) Operation(kind string) string {
	if kind == account.OperationDrop {
		return "Deletion"
	}
	return "Creation or change"
}

// OldProtocol reports whether an agent is of an earlier protocol than this program.
func (d *agentsData) OldProtocol(a fleet.Agent) bool {
	return a.Protocol < controldb.AgentProtocol
}
