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
	// Tag stands for the known databases whose tags match a filter. The control database evaluates
	// it, and gives agents a SqlDatabase member for each database.
	Tag MemberKind = "Tag"
	// Endpoint is the only member of an action without a target group. No target group holds it,
	// and MemberKinds does not return it.
	Endpoint MemberKind = "Endpoint"
)

// MemberKinds returns every kind of a target group's member.
func MemberKinds() []MemberKind {
	return []MemberKind{SQLServer, SQLElasticPool, SQLDatabase, SQLShardMap, Tag}
}

// Member is one row of a target group.
type Member struct {
	// ID is the column target_id; nil in a member that is not stored.
	ID uuid.UUID
	// Membership is Include or Exclude; empty means Include.
	Membership MembershipType
	// Kind decides which of the names below are required.
	Kind MemberKind
	// Server is required for every kind but Tag.
	Server string
	// Database is the database itself (SqlDatabase) or the shard map manager's database
	// (SqlShardMap).
	Database string
	// ElasticPool is required for SqlElasticPool.
	ElasticPool string
	// ShardMap is required for SqlShardMap.
	ShardMap string
	// TagFilter is required for Tag: the text, as jobs.sp_add_target_group_member takes it.
	TagFilter string
	// RefreshCredential names the credential that lists databases; empty means DefaultCredential.
	RefreshCredential string
}

// String returns kind and names for messages.
func (m Member) String() string {
	var b strings.Builder
	if m.Membership == Exclude {
		b.WriteString("excluded ")
	}
	b.WriteString(string(m.Kind) + " " + m.Server + m.TagFilter)
	for _, name := range []string{m.Database, m.ElasticPool, m.ShardMap} {
		if name != "" {
			b.WriteString("/" + name)
		}
	}
	return b.String()
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
	if m.Membership != "" && m.Membership != Include && m.Membership != Exclude {
		return &MemberError{Member: m, Err: fmt.Errorf("invalid membership type %q: want Include or Exclude", m.Membership)}
	}
	need := map[string]bool{"server name": m.Kind != Tag, "tag filter": m.Kind == Tag}
	switch m.Kind {
	case SQLServer, Tag:
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
		{"elastic pool name", m.ElasticPool}, {"shard map name", m.ShardMap}, {"tag filter", m.TagFilter},
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
