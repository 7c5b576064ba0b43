package targetgroups

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets"
)

// Detail is a target group with its members.
type Detail struct {
	Group
	Revision int64 `db:"revision"`
	// Members are in the order in which they were given.
	Members []targets.Member `db:"-"`
	// Unread says that the members were not read, because the list before has its members already.
	Unread bool `db:"-"`
}

const groupColumns = `SELECT target_group_name, target_group_id, revision
FROM jobs.target_group_revisions`

const groupQuery = groupColumns + "\nWHERE target_group_name = @p1;"

// Get returns a target group. The error is [dberror.ErrGroupNotFound] when none has this
// name.
func (s Store) Get(ctx context.Context, name string) (Detail, error) {
	list, err := call.SelectAll[Detail](ctx, s.conn, "read target group", groupQuery, name)
	if err == nil {
		err = s.addMembers(ctx, list)
	}
	return call.OnlyRow(list, err, "read target group", dberror.ErrGroupNotFound)
}

// Details lists the target groups by name. The list has a number of members at most, or
// one group: if more follow, it ends with a group whose members are unread.
func (s Store) Details(ctx context.Context, p controldb.Page[string], members int) ([]Detail, error) {
	w := p.Filter("target_group_name", ">")
	list, err := call.SelectAll[Detail](ctx, s.conn, "list target groups",
		groupColumns+w.Text()+"\nORDER BY target_group_name"+p.Text(w)+";", w.Args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	counts, err := call.SelectAll[struct {
		Group   uuid.UUID `db:"target_group_id"`
		Members int       `db:"members"`
	}](ctx, s.conn, "count target group members", `SELECT target_group_id, COUNT(*) AS members
FROM jobs.target_group_member_details
WHERE target_group_name >= @p1
    AND target_group_name <= @p2
GROUP BY target_group_id;`, list[0].Name, list[len(list)-1].Name)
	if err != nil {
		return nil, err
	}
	of := map[uuid.UUID]int{}
	for _, c := range counts {
		of[c.Group] = c.Members
	}
	sum := of[list[0].ID]
	for i := 1; i < len(list); i++ {
		if sum += of[list[i].ID]; sum > members {
			list[i].Unread = true
			return list[:i+1], s.addMembers(ctx, list[:i])
		}
	}
	return list, s.addMembers(ctx, list)
}

// memberRow is a row of membersQuery.
type memberRow struct {
	Group uuid.UUID `db:"target_group_id"`
	targets.Member
}

const membersQuery = `SELECT target_group_id, ` + memberColumns + `
FROM jobs.target_group_member_details
WHERE target_group_name >= @p1
    AND target_group_name <= @p2
ORDER BY target_group_id, member_id;`

// addMembers reads the members of groups, which are in the order of their names without gaps.
func (s Store) addMembers(ctx context.Context, groups []Detail) error {
	if len(groups) == 0 {
		return nil
	}
	rows, err := call.SelectAll[memberRow](ctx, s.conn, "list target group members", membersQuery, groups[0].Name, groups[len(groups)-1].Name)
	if err != nil {
		return err
	}
	members := map[uuid.UUID][]targets.Member{}
	for _, r := range rows {
		members[r.Group] = append(members[r.Group], r.Member)
	}
	for i := range groups {
		groups[i].Members = members[groups[i].ID]
	}
	return nil
}

// Set creates a target group, or replaces the members of an existing one. Members that
// stay keep their ids; the ids of the given ones are ignored.
func (s Store) Set(ctx context.Context, name string, members []targets.Member, ifMatch *int64) (controldb.Put[Detail], error) {
	texts := make([]map[string]string, 0, len(members))
	for i := range members {
		m := &members[i]
		text := map[string]string{
			"membership_type": string(cmp.Or(m.Membership, targets.Include)), "target_type": string(m.Kind), "refresh_credential_name": m.RefreshCredential,
		}
		for _, f := range targets.MemberFields() {
			text[f.Name] = f.Value(m)
		}
		texts = append(texts, text)
	}
	text, err := json.Marshal(texts)
	if err != nil {
		return controldb.Put[Detail]{}, err
	}
	c := call.New("jobs.sp_set_target_group").In("target_group_name", name).In("members", string(text))
	var p controldb.Put[Detail]
	var rows []memberRow
	call.Opt(c, "if_match", ifMatch).Out("created", &p.Created).Read(groupQuery, name).Read(membersQuery, name, name)
	p.Object, err = call.Left[Detail](ctx, s.conn, "set target group", c, call.Into(&rows))
	for _, r := range rows {
		p.Object.Members = append(p.Object.Members, r.Member)
	}
	return p, err
}

// DeleteIf is Delete for a group of a certain revision.
func (s Store) DeleteIf(ctx context.Context, name string, ifMatch *int64) error {
	c := call.New("jobs.sp_delete_target_group").In("target_group_name", name)
	return s.conn.Exec(ctx, "delete target group", call.Opt(c, "if_match", ifMatch))
}

// Find lists target groups whose names contain search, by name.
func (s Store) Find(ctx context.Context, search string, p controldb.Page[string]) ([]Detail, error) {
	w := p.Filter("target_group_name", ">")
	if search != "" {
		w.Add("CHARINDEX(%s, target_group_name) > 0", search)
	}
	list, err := call.SelectAll[Detail](ctx, s.conn, "find target groups",
		groupColumns+w.Text()+"\nORDER BY target_group_name"+p.Text(w)+";", w.Args...)
	if err != nil {
		return nil, err
	}
	return list, s.addMembers(ctx, list)
}

// Defined lists all target groups with their members, by name.
func (s Store) Defined(ctx context.Context) ([]Detail, error) {
	list, err := call.SelectAll[Detail](ctx, s.conn, "read target groups", groupColumns+"\nORDER BY target_group_name;")
	if err != nil {
		return nil, err
	}
	return list, s.addMembers(ctx, list)
}
