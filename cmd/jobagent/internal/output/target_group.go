package output

import (
	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/targets"
)

// TargetGroup is a target group.
type TargetGroup struct{ targetgroups.Group }

// CreatedTargetGroup is a target group that was created.
type CreatedTargetGroup struct {
	ID   uuid.UUID `json:"target_group_id"`
	Name string    `json:"target_group_name"`
}

// TargetGroupName names a target group that was deleted.
type TargetGroupName struct {
	Name string `json:"target_group_name"`
}

// ImportedTargetGroup is a target group that has the databases of a file.
type ImportedTargetGroup struct {
	Group     string `json:"target_group_name"`
	Databases int    `json:"databases"` // that the file has
	// Added are the databases that were no members, as SERVER/DATABASE; Removed are other members.
	Added       []string `json:"added"`
	Removed     []string `json:"removed"`
	TagsChanged int      `json:"tags_changed"` // databases whose tags changed
	DryRun      bool     `json:"dry_run"`      // nothing was done
}

// ChangedMember names a member that was added or removed.
type ChangedMember struct {
	Group string    `json:"target_group_name"`
	ID    uuid.UUID `json:"target_id"`
}

// TargetGroupMembers is a target group with its members.
type TargetGroupMembers struct {
	Members []Member `json:"members"`
	Group   string   `json:"target_group_name"`
}

// Member is a member of a target group. Its fields are those of the view jobs.target_group_members.
type Member struct{ targets.Member }

// Target is a database on which a step would run.
type Target struct {
	Server      string    `json:"server_name"`
	Database    string    `json:"database_name"`
	ElasticPool string    `json:"elastic_pool_name,omitempty"`
	ID          uuid.UUID `json:"target_id"`
	// Change is what differs from the last list of targets of a run; empty if that was not asked.
	Change TargetChange `json:"change,omitempty"`
}

// TargetChange says how a database differs from the last list of targets of its group.
type TargetChange string

// The changes: a run would have the database now, or would not have it any more.
const (
	TargetAdded TargetChange = "added"
	TargetGone  TargetChange = "gone"
)
