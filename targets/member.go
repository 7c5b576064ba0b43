package targets

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// Target is one database that a step runs on.
type Target struct {
	// ID is a name-based UUID of server and database, the same in every run.
	ID uuid.UUID
	// Server is the server's name as the target group spells it: host, host\instance or host,port.
	Server string
	// Database is the database's name, spelled as by the server or by a SqlDatabase member.
	Database string
	// ElasticPool is the elastic pool that the database was found in. It is empty for a database in
	// no pool, and for a SqlDatabase member, whose server is not asked. max_parallelism counts by
	// it.
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

// FoldName returns a name in the form in which names are compared: without regard to case, as in
// SQL Server's default collations and in DNS.
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

// MemberKinds returns every kind of a target group's member.
func MemberKinds() []MemberKind {
	return []MemberKind{SQLServer, SQLElasticPool, SQLDatabase, SQLShardMap, Tag, Query, TargetGroup}
}

// Member is one row of a target group.
type Member struct {
	// ID is the column target_id; nil in a member that is not stored.
	ID uuid.UUID
	// Membership is Include, Exclude or Intersect; empty means Include.
	Membership MembershipType
	// Kind decides which of the names below are required.
	Kind MemberKind
	// Server is required for every kind but Tag and TargetGroup.
	Server string
	// Database is the database itself (SqlDatabase), the shard map manager's database (SqlShardMap)
	// or the one that is queried (Query).
	Database string
	// ElasticPool is required for SqlElasticPool.
	ElasticPool string
	// ShardMap is required for SqlShardMap.
	ShardMap string
	// TagFilter is required for Tag: the text, as jobs.sp_add_target_group_member takes it.
	TagFilter string
	// Query is required for Query: a batch whose result set has a column database_name, and may
	// have a column server_name.
	Query string
	// Group is required for TargetGroup: the name of the other target group.
	Group string
	// Stands is what a Tag or a TargetGroup stands for. It is nil in a member as it is stored.
	Stands *Stands
	// RefreshCredential names the credential that lists databases; empty means DefaultCredential.
	RefreshCredential string
}

// Stands is what a member of the kind Tag or TargetGroup stands for.
type Stands struct {
	// Databases are those that match the filter of a Tag.
	Databases []Target
	// Members are those of the other target group. Loop means that they are left out, because the
	// group is a member of itself, directly or not.
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

// StandsForMore reports whether only the control database knows what the member stands for, or how
// its databases are found: a member of a claimed resolution does not say so.
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
	need := map[string]bool{
		"server name": m.Kind != Tag && m.Kind != TargetGroup, "tag filter": m.Kind == Tag, "query": m.Kind == Query,
		"group name": m.Kind == TargetGroup,
	}
	switch m.Kind {
	case SQLServer, Tag, TargetGroup:
	case Query:
		need["database name"] = true
	case SQLElasticPool:
		need["elastic pool name"] = true
	case SQLDatabase:
		need["database name"] = true
	case SQLShardMap:
		need["database name"], need["shard map name"] = true, true
	default:
		return &MemberError{Member: m, Err: fmt.Errorf("invalid target type %q: want one of %v", m.Kind, MemberKinds())}
	}
	for _, f := range []struct{ name, value string }{
		{"server name", m.Server}, {"database name", m.Database},
		{"elastic pool name", m.ElasticPool}, {"shard map name", m.ShardMap}, {"tag filter", m.TagFilter}, {"query", m.Query},
		{"group name", m.Group},
	} {
		if has := strings.TrimSpace(f.value) != ""; has != need[f.name] {
			problem := "is missing"
			if has {
				problem = "does not belong to this target type"
			}
			return &MemberError{Member: m, Err: fmt.Errorf("the %s %s", f.name, problem)}
		}
	}
	return nil
}
