package targetgroups

import (
	"context"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets"
)

// Add creates an empty target group and returns its id. It returns
// [dberror.ErrGroupExists] when the name is taken.
func (s Store) Add(ctx context.Context, name string) (uuid.UUID, error) {
	var id mssqldb.UniqueIdentifier
	c := call.New("jobs.sp_add_target_group").In("target_group_name", name).Out("target_group_id", &id)
	err := s.conn.Exec(ctx, "add target group", c)
	return uuid.UUID(id), err
}

// Delete deletes a target group with its members. It returns [dberror.ErrGroupInUse]
// when a job uses it.
func (s Store) Delete(ctx context.Context, name string) error {
	return s.conn.Exec(ctx, "delete target group", call.New("jobs.sp_delete_target_group").In("target_group_name", name))
}

// AddMember adds a member and returns its target id. The member's ID is ignored.
func (s Store) AddMember(ctx context.Context, group string, m targets.Member) (uuid.UUID, error) {
	var id mssqldb.UniqueIdentifier
	c := call.New("jobs.sp_add_target_group_member").In("target_group_name", group).
		OptText("membership_type", string(m.Membership)).In("target_type", string(m.Kind)).
		OptText("refresh_credential_name", m.RefreshCredential).Out("target_id", &id)
	for _, f := range targets.MemberFields() {
		c.OptText(f.Name, f.Value(&m))
	}
	err := s.conn.Exec(ctx, "add target group member", c)
	return uuid.UUID(id), err
}

// DeleteMember removes a member. It returns [dberror.ErrMemberNotFound] when the group
// has no member of this id.
func (s Store) DeleteMember(ctx context.Context, group string, targetID uuid.UUID) error {
	return s.conn.Exec(ctx, "delete target group member",
		call.New("jobs.sp_delete_target_group_member").In("target_group_name", group).In("target_id", targetID))
}

// Group is a row of the view jobs.target_groups.
type Group struct {
	Name string    `db:"target_group_name" json:"target_group_name"`
	ID   uuid.UUID `db:"target_group_id" json:"target_group_id"`
	// Members is the number of its members, excluded ones too.
	Members int `db:"members" json:"members"`
}

// List lists the target groups by name; a name that is not empty restricts the list to it.
func (s Store) List(ctx context.Context, name string) ([]Group, error) {
	return call.SelectAll[Group](ctx, s.conn, "list target groups", `SELECT g.target_group_name, g.target_group_id,
    (SELECT COUNT(*) FROM jobs.target_group_members AS m WHERE m.target_group_id = g.target_group_id) AS members
FROM jobs.target_groups AS g
WHERE @p1 = N'' OR g.target_group_name = @p1
ORDER BY g.target_group_name;`, name)
}

// memberColumns are the columns of a [targets.Member].
const memberColumns = `membership_type, target_type, target_id, refresh_credential_name, server_name, database_name, elastic_pool_name,
    shard_map_name, tag_filter, query, member_group_name`

// Members lists the members of a target group, Includes first. The list is empty for a
// group that does not exist.
func (s Store) Members(ctx context.Context, group string) ([]targets.Member, error) {
	return call.SelectAll[targets.Member](ctx, s.conn, "list target group members", `SELECT `+memberColumns+`
FROM jobs.target_group_member_details
WHERE target_group_name = @p1
ORDER BY membership_type DESC, target_type, server_name, database_name, elastic_pool_name, tag_filter, query, member_group_name;`, group)
}

// ResolvableMembers is Members with the members of the groups that are members. Those of
// the kind Tag are left to [Store.TaggedTargets].
func (s Store) ResolvableMembers(ctx context.Context, group string) ([]targets.Member, error) {
	return controldb.NestMembers(group, func(name string) ([]targets.Member, error) { return s.Members(ctx, name) })
}
