package targets

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Target is one database that a step runs on.
type Target struct {
	// ID is a name-based UUID of server and database, the same in every run.
	ID uuid.UUID
	// Server is the server's name in the spelling of the target group: host, host\instance or
	// host,port.
	Server string
	// Database is the database's name in the spelling of the server or of a SqlDatabase member.
	Database string
	// ElasticPool is the elastic pool of the database. It is empty for a database in no pool, and
	// for a SqlDatabase member, whose server is not queried. max_parallelism counts by it.
	ElasticPool string
}

// String returns server and database for messages.
func (t Target) String() string { return t.Server + "/" + t.Database }

// targetNamespace is the name space of target IDs: a random UUID that must never change.
var targetNamespace = uuid.MustParse("8f1c8f0e-5a0b-4b5e-9a53-2d1f5d7a6c11")

// NewTarget returns the target of a database, with its ID. Names that differ only in case have the
// same ID.
func NewTarget(server, database, pool string) Target {
	return Target{ID: TargetID(server, database), Server: server, Database: database, ElasticPool: pool}
}

// TargetID is the name-based UUID (RFC 9562, version 5) of a database.
func TargetID(server, database string) uuid.UUID {
	return uuid.NewSHA1(targetNamespace, []byte(DatabaseKey(server, database)))
}

// DatabaseKey returns a key that is equal for all names of one database.
func DatabaseKey(server, database string) string {
	return ServerKey(server) + "\x00" + FoldName(database)
}

// ServerKey returns a key that is equal for names of one server that differ only in case, in the
// protocol prefix tcp: or in the default port 1433.
func ServerKey(server string) string {
	return strings.TrimSuffix(strings.TrimPrefix(FoldName(server), "tcp:"), ",1433")
}

// FoldName returns a name in the form for comparisons: without regard to case, as in SQL Server's
// default collations and in DNS.
func FoldName(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// MembershipType says whether a member adds or removes databases.
type MembershipType string

const (
	// Include adds the databases of the member. It is the default.
	Include MembershipType = "Include"
	// Exclude removes the databases of the member, in whatever order the members are listed.
	Exclude MembershipType = "Exclude"
	// Intersect keeps only the databases of the member, in whatever order the members are listed.
	Intersect MembershipType = "Intersect"
)

// MemberKind is the column target_type of jobs.target_group_members.
type MemberKind string

const (
	// SQLServer stands for all online user databases of a server.
	SQLServer MemberKind = "SqlServer"
	// SQLElasticPool stands for all databases of an Azure SQL elastic pool.
	SQLElasticPool MemberKind = "SqlElasticPool"
	// SQLDatabase is one database of any kind, master included. A name with * or ? is a pattern: it
	// stands for the online user databases of the server whose names match.
	SQLDatabase MemberKind = "SqlDatabase"
	// SQLShardMap stands for the databases of all shards of a shard map.
	SQLShardMap MemberKind = "SqlShardMap"
	// Tag stands for the known databases whose tags match a filter, which the control database
	// evaluates.
	Tag MemberKind = "Tag"
	// Query stands for the databases that a query on one database returns.
	Query MemberKind = "Query"
	// TargetGroup stands for the databases of another target group.
	TargetGroup MemberKind = "TargetGroup"
	// Endpoint is the only member of an action without a target group. No target group holds it,
	// and MemberKinds does not return it.
	Endpoint MemberKind = "Endpoint"
)

// Words describes a member of the kind.
func (k MemberKind) Words() string {
	switch k {
	case SQLServer:
		return "server"
	case SQLElasticPool:
		return "elastic pool"
	case SQLShardMap:
		return "shard map"
	case Tag:
		return "tags"
	case Query:
		return "query"
	case TargetGroup:
		return "target group"
	}
	return "database"
}

// MemberKinds returns every kind of a target group's member.
func MemberKinds() []MemberKind {
	return []MemberKind{SQLServer, SQLElasticPool, SQLDatabase, SQLShardMap, Tag, Query, TargetGroup}
}

// Member is a member of a target group: a row of the view jobs.target_group_member_details.
type Member struct {
	// Membership is Include, Exclude or Intersect; empty means Include.
	Membership MembershipType `db:"membership_type" json:"membership_type" doc:"Include, Exclude or Intersect"`
	// Kind decides which of the names below are required.
	Kind MemberKind `db:"target_type" json:"target_type"`
	// ID is the column target_id; nil in a member that is not stored.
	ID uuid.UUID `db:"target_id" json:"target_id"`
	// Server is the server's name: host, host\instance or host,port.
	Server string `db:"server_name" json:"server_name"`
	// Database is the database itself (SqlDatabase), the shard map manager's database (SqlShardMap)
	// or the queried database (Query).
	Database    string `db:"database_name" json:"database_name,omitempty"`
	ElasticPool string `db:"elastic_pool_name" json:"elastic_pool_name,omitempty"`
	ShardMap    string `db:"shard_map_name" json:"shard_map_name,omitempty"`
	// TagFilter is the filter in the form of jobs.sp_add_target_group_member.
	TagFilter string `db:"tag_filter" json:"tag_filter,omitempty" doc:"of a member of type Tag, which has no server"`
	// Query is a batch whose result set has a column database_name, and may have a column
	// server_name.
	Query string `db:"query" json:"query,omitempty" doc:"of a member of type Query"`
	// Group is the name of the other target group.
	Group string `db:"member_group_name" json:"member_group_name,omitempty"`
	// RefreshCredential names the credential that lists databases; empty means DefaultCredential.
	RefreshCredential string `db:"refresh_credential_name" json:"refresh_credential_name,omitempty"`
	// Stands has the databases or members for which a Tag or a TargetGroup stands. It is nil in a
	// stored member.
	Stands *Stands `db:"-" json:"-"`
}

// MemberField is one of the texts that define what a member stands for.
type MemberField struct {
	// Name is the name of the parameter of jobs.sp_add_target_group_member and of the column.
	Name string

	words string // description for people
	needs []MemberKind
	fold  func(string) string // makes equal names equal texts; nil: texts are compared unchanged
	value func(*Member) *string
}

// Value returns the text of a member; empty if it has none.
func (f *MemberField) Value(m *Member) string { return *f.value(m) }

// memberFields declares the fields. A member has exactly those that its kind needs.
var memberFields = []MemberField{
	{
		Name: "server_name", words: "server name", needs: []MemberKind{SQLServer, SQLElasticPool, SQLDatabase, SQLShardMap, Query},
		fold: ServerKey, value: func(m *Member) *string { return &m.Server },
	},
	{
		Name: "database_name", words: "database name", needs: []MemberKind{SQLDatabase, SQLShardMap, Query},
		fold: FoldName, value: func(m *Member) *string { return &m.Database },
	},
	{
		Name: "elastic_pool_name", words: "elastic pool name", needs: []MemberKind{SQLElasticPool},
		fold: FoldName, value: func(m *Member) *string { return &m.ElasticPool },
	},
	{
		Name: "shard_map_name", words: "shard map name", needs: []MemberKind{SQLShardMap},
		fold: FoldName, value: func(m *Member) *string { return &m.ShardMap },
	},
	{Name: "tag_filter", words: "tag filter", needs: []MemberKind{Tag}, value: func(m *Member) *string { return &m.TagFilter }},
	{Name: "query", words: "query", needs: []MemberKind{Query}, value: func(m *Member) *string { return &m.Query }},
	{Name: "member_group_name", words: "group name", needs: []MemberKind{TargetGroup}, value: func(m *Member) *string { return &m.Group }},
}

// MemberFields returns the fields, in the order of display.
func MemberFields() []MemberField { return memberFields }

// KindOf returns the kind of a member by the fields that it has.
func KindOf(m Member) MemberKind {
	switch {
	case m.TagFilter != "":
		return Tag
	case m.Group != "":
		return TargetGroup
	case m.Query != "":
		return Query
	case m.ShardMap != "":
		return SQLShardMap
	case m.ElasticPool != "":
		return SQLElasticPool
	case m.Database != "":
		return SQLDatabase
	}
	return SQLServer
}

// Key returns a member that is equal for all spellings of the names of one server, database, pool
// or shard map. IDs and Stands are not compared.
func (m Member) Key() Member {
	m.ID, m.Stands, m.RefreshCredential = uuid.Nil, nil, FoldName(m.RefreshCredential)
	m.Membership = cmp.Or(m.Membership, Include)
	for i := range memberFields {
		if f := &memberFields[i]; f.fold != nil {
			*f.value(&m) = f.fold(*f.value(&m))
		}
	}
	return m
}

// Stands has the databases or members for which a member of the kind Tag or TargetGroup stands.
type Stands struct {
	// Databases are the databases that match the filter of a Tag.
	Databases []Target
	// Members are the members of the other target group. Loop means that they are omitted, because
	// the group is a member of itself, directly or through other groups.
	Members []Member
	Loop    bool
}

// String returns kind and names for messages.
func (m Member) String() string {
	var b strings.Builder
	switch m.Membership {
	case Exclude:
		b.WriteString("excluded ")
	case Intersect:
		b.WriteString("intersected ")
	}
	b.WriteString(string(m.Kind) + " " + m.Server + m.TagFilter + m.Group)
	for _, name := range []string{m.Database, m.ElasticPool, m.ShardMap, m.Query} {
		if name != "" {
			b.WriteString("/" + name)
		}
	}
	return b.String()
}

// ListsDatabases reports whether databases are listed on a server, with the refresh credential.
func (m Member) ListsDatabases() bool {
	return m.IsPattern() || m.Kind != SQLDatabase && m.Kind != Tag && m.Kind != TargetGroup
}

// StandsForMore reports whether only the control database has the databases, or the query, of the
// member: a member of a claimed resolution does not contain them.
func (m Member) StandsForMore() bool {
	return m.Kind == Tag || m.Kind == Query || m.Kind == TargetGroup
}

// IsPattern reports whether the member stands for the databases of its server whose names match a
// pattern.
func (m Member) IsPattern() bool {
	return m.Kind == SQLDatabase && strings.ContainsAny(m.Database, "*?")
}

// Matches reports whether a database of the member's server belongs to the member: any, unless the
// member is a pattern.
func (m Member) Matches(database string) bool {
	return !m.IsPattern() || MatchName(m.Database, database)
}

// Validate reports a name that is missing in m or does not belong to its kind. The stored
// procedures check the same when a member is added; Validate is for members from other sources.
func (m Member) Validate() error {
	if m.Membership != "" && m.Membership != Include && m.Membership != Exclude && m.Membership != Intersect {
		return &MemberError{Member: m, Err: fmt.Errorf("invalid membership type %q: want Include, Exclude or Intersect", m.Membership)}
	}
	if !slices.Contains(MemberKinds(), m.Kind) {
		return &MemberError{Member: m, Err: fmt.Errorf("invalid target type %q: want one of %v", m.Kind, MemberKinds())}
	}
	for i := range memberFields {
		f := &memberFields[i]
		has, needed := strings.TrimSpace(f.Value(&m)) != "", slices.Contains(f.needs, m.Kind)
		switch {
		case needed && !has:
			return &MemberError{Member: m, Err: fmt.Errorf("the %s is missing", f.words)}
		case has && !needed:
			return &MemberError{Member: m, Err: fmt.Errorf("the %s does not belong to this target type", f.words)}
		}
	}
	return nil
}
