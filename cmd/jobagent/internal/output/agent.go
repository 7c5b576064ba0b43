package output

import (
	"time"

	"github.com/google/uuid"
)

// Agent is an agent with its latest term.
type Agent struct {
	ID                   uuid.UUID  `json:"agent_id"`
	Host                 string     `json:"host_name"`
	Version              string     `json:"version"`                // of the agent's program
	MaxConcurrentTargets int        `json:"max_concurrent_targets"` // number of workers
	Term                 int64      `json:"term_id"`
	StartedAt            time.Time  `json:"started_at"`
	ExpiresAt            time.Time  `json:"expires_at"`         // end of the lease, unless it is renewed
	EndedAt              *time.Time `json:"ended_at,omitempty"` // when the agent gave the term up
	EndReason            string     `json:"end_reason,omitempty"`
	Live                 bool       `json:"is_live"`
	HeldTasks            int        `json:"held_tasks"`          // tasks that the term has claimed
	Engine               string     `json:"engine,omitempty"`    // what computes its schedules: program and digest of the time zone rules
	ZoneData             string     `json:"zone_data,omitempty"` // where these rules come from, with their version if it is known
}

// AgentProbe is the answer of an agent that works.
type AgentProbe struct {
	URL    string `json:"url"`
	Answer string `json:"answer"`
}
