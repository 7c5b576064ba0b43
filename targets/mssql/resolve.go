package mssql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/targets"
)

// ListFunc lists the databases of a member that stands for several: a server, a pool, a shard map
// or a query. It is called for included, intersected and excluded members.
type ListFunc func(ctx context.Context, m targets.Member) ([]targets.Target, error)

// listsAtOnce is the number of members that are listed concurrently. Each listing needs a
// connection to a server.
const listsAtOnce = 8

// Resolve turns the members of a target group into databases: the included ones, of which every
// intersected member keeps its own, without the excluded ones, each once, sorted by server and
// database. The order of the members has one effect only: of several spellings of a server's name,
// the first in sorting order is used. The result may be empty.
//
// counts has for each included member the number of databases that it adds, for each intersected
// one the number of those that it keeps, and for each excluded one the number of those that it
// takes away; 0 for an excluded member means that it has no effect.
//
// A member that cannot be listed fails the whole resolution. Otherwise a step would run on a part
// of a group because a server was down, or on a database that should be excluded. The errors are
// *targets.MemberError, joined.
func Resolve(ctx context.Context, members []targets.Member, list ListFunc) (result []targets.Target, counts []int, err error) {
	r := &resolution{
		list: list, places: make(chan struct{}, listsAtOnce), groups: map[*targets.Stands]func() ([]targets.Target, error){},
	}
	return r.resolve(ctx, members)
}

// resolution is the resolution of a target group and of the groups that are its members, each once.
// places limits the concurrent lists of all of them. mu guards groups.
type resolution struct {
	list   ListFunc
	places chan struct{}
	mu     sync.Mutex
	groups map[*targets.Stands]func() ([]targets.Target, error)
}

// resolve resolves the group, or a group that is its member.
func (r *resolution) resolve(ctx context.Context, members []targets.Member) (result []targets.Target, counts []int, err error) {
	var errs []error
	for _, m := range members {
		if err := m.Validate(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	listed, err := r.listAll(ctx, members, func(m targets.Member) bool { return m.Membership != targets.Exclude })
	if err != nil {
		return nil, nil, err
	}
	counts = make([]int, len(members))
	found := make(map[string]targets.Target)
	hosts := make(map[string]bool) // servers with an included database
	for i, of := range listed {
		if members[i].Membership == targets.Intersect {
			continue
		}
		counts[i] = len(keys(of))
		for _, t := range of {
			key := targets.DatabaseKey(t.Server, t.Database)
			hosts[targets.ServerKey(t.Server)] = true
			if old, dup := found[key]; dup {
				t = merge(old, t)
			}
			found[key] = t
		}
	}
	for i, m := range members {
		if m.Membership != targets.Intersect {
			continue
		}
		of := keys(listed[i])
		maps.DeleteFunc(found, func(key string, _ targets.Target) bool { return !of[key] })
		counts[i] = len(found)
	}
	excluded, err := r.listAll(ctx, members, func(m targets.Member) bool {
		// An excluded server or pattern needs no list. A pool on a server without included
		// databases excludes nothing.
		return m.Membership == targets.Exclude && m.Kind != targets.SQLServer && !m.IsPattern() &&
			(m.Kind != targets.SQLElasticPool || hosts[targets.ServerKey(m.Server)])
	})
	if err != nil {
		return nil, nil, err
	}
	gone := make(map[string]bool)
	for i, m := range members {
		if m.Membership != targets.Exclude {
			continue
		}
		of := keys(excluded[i])
		for key, t := range found {
			whole := m.Kind == targets.SQLServer || m.IsPattern()
			if of[key] || whole && targets.ServerKey(t.Server) == targets.ServerKey(m.Server) && m.Matches(t.Database) {
				counts[i]++
				gone[key] = true
			}
		}
	}
	result = make([]targets.Target, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if t := found[key]; !gone[key] {
			result = append(result, targets.NewTarget(t.Server, t.Database, t.ElasticPool))
		}
	}
	return result, counts, nil
}

// keys returns the keys of databases.
func keys(list []targets.Target) map[string]bool {
	all := make(map[string]bool, len(list))
	for _, t := range list {
		all[targets.DatabaseKey(t.Server, t.Database)] = true
	}
	return all
}

// WithoutEffect returns the members of a group that add or exclude nothing, one sentence each.
// counts are those of [Resolve]. An exclusion without effect is often a misspelled name, and the
// next run would change its database.
func WithoutEffect(members []targets.Member, counts []int) []string {
	var list []string
	for i, m := range members {
		switch {
		case counts[i] > 0:
		case m.Membership == targets.Exclude:
			list = append(list, fmt.Sprintf("the member %s excludes no database now", m))
		case m.Membership == targets.Intersect:
			list = append(list, fmt.Sprintf("the member %s keeps no database now", m))
		default:
			list = append(list, fmt.Sprintf("the member %s adds no database now", m))
		}
	}
	return list
}

// merge merges two targets of the same database. It keeps the pool, which may be known for only one
// of them.
func merge(a, b targets.Target) targets.Target {
	first := a
	order := cmp.Or(cmp.Compare(b.Server, a.Server), cmp.Compare(b.Database, a.Database),
		cmp.Compare(b.ElasticPool, a.ElasticPool))
	if order < 0 {
		first = b
	}
	first.ElasticPool = cmp.Or(first.ElasticPool, a.ElasticPool, b.ElasticPool)
	return first
}

// listAll lists the chosen members concurrently, and returns the databases of each member.
func (r *resolution) listAll(
	ctx context.Context, members []targets.Member, chosen func(targets.Member) bool,
) ([][]targets.Target, error) {
	lists := make([][]targets.Target, len(members))
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	var panics Panics
	list := func(fn func()) { wg.Go(func() { panics.Keep(fn) }) }
	for i, m := range members {
		if !chosen(m) {
			continue
		}
		if m.Kind == targets.SQLDatabase && !m.IsPattern() {
			lists[i] = []targets.Target{{Server: strings.TrimSpace(m.Server), Database: strings.TrimSpace(m.Database)}}
			continue
		}
		if m.Stands != nil {
			list(func() { // takes no place: the listing that it waits for needs one
				var err error
				if lists[i], err = r.standsFor(ctx, m); err != nil {
					errs[i] = &targets.MemberError{Member: m, Err: err}
				}
			})
			continue
		}
		r.places <- struct{}{}
		list(func() {
			defer func() { <-r.places }()
			if ctx.Err() != nil {
				errs[i] = &targets.MemberError{Member: m, Err: context.Cause(ctx)}
				return
			}
			listed := m
			if m.IsPattern() {
				listed = targets.Member{Kind: targets.SQLServer, Server: m.Server, RefreshCredential: m.RefreshCredential}
			}
			of, err := r.list(ctx, listed)
			for _, t := range of {
				if m.Matches(t.Database) {
					lists[i] = append(lists[i], t)
				}
			}
			if err != nil {
				err = causeOr(ctx, err)
			} else if listed.Kind == targets.SQLServer || listed.Kind == targets.SQLElasticPool {
				err = alike(lists[i])
			}
			if err != nil {
				errs[i] = &targets.MemberError{Member: m, Err: err}
			}
		})
	}
	wg.Wait()
	panics.Pass()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return lists, nil
}

// alike returns an error if a server has two databases whose names are those of one database for a
// target group, as a server with a case-sensitive collation may have. A run would leave one of them
// out.
func alike(list []targets.Target) error {
	names := make(map[string]string, len(list)) // by the folded name
	for _, t := range list {
		key := targets.FoldName(t.Database)
		if other, found := names[key]; found && other != t.Database {
			return fmt.Errorf("the server has the databases %q and %q, which a target group does not distinguish: rename one of them, or name the others one by one",
				other, t.Database)
		}
		names[key] = t.Database
	}
	return nil
}

// standsFor returns the databases of a Tag or of a TargetGroup.
func (r *resolution) standsFor(ctx context.Context, m targets.Member) ([]targets.Target, error) {
	switch {
	case m.Stands.Loop:
		return nil, errLoop
	case m.Kind == targets.Tag:
		return m.Stands.Databases, nil
	}
	r.mu.Lock()
	once := r.groups[m.Stands]
	if once == nil {
		once = sync.OnceValues(func() ([]targets.Target, error) {
			of, _, err := r.resolve(ctx, m.Stands.Members)
			return of, err
		})
		r.groups[m.Stands] = once
	}
	r.mu.Unlock()
	return once()
}

// errLoop is the error of a target group that is a member of itself. Two authors may have caused it
// at the same time.
var errLoop = errors.New("the group is a member of itself, directly or not: remove one of these members")

// Resolver resolves target groups by queries to the servers.
type Resolver struct {
	servers *Servers
	control Instance
	tagged  ListFunc
}

// NewResolver returns a resolver. control is the control database, which listings of servers and
// pools omit; the zero value means that there is none.
func NewResolver(servers *Servers, control Instance) *Resolver {
	return &Resolver{servers: servers, control: control}
}

// WithTags returns a resolver that lists the databases of Tag members by list. Agents need none,
// because the control database gives them the databases.
func (r *Resolver) WithTags(list ListFunc) *Resolver {
	other := *r
	other.tagged = list
	return &other
}

// Resolve resolves the members into databases; see the function Resolve.
func (r *Resolver) Resolve(ctx context.Context, members []targets.Member) ([]targets.Target, error) {
	list, _, err := Resolve(ctx, members, r.list)
	return list, err
}

// ResolveTags resolves the members into databases, and returns the tags that queries among the
// members have for them, in the order of the databases; see the function Resolve. Two queries that
// return different values of a tag fail the resolution.
func (r *Resolver) ResolveTags(ctx context.Context, members []targets.Member) ([]targets.Target, []targets.Tags, error) {
	var c tagCollector
	list, _, err := Resolve(ctx, members, func(ctx context.Context, m targets.Member) ([]targets.Target, error) {
		if m.Kind != targets.Query {
			return r.list(ctx, m)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, listLimit, errListTimeout)
		defer cancel()
		list, tags, err := r.listQuery(ctx, m)
		if err != nil {
			return nil, causeOr(ctx, err)
		}
		return list, c.add(tags)
	})
	if err != nil {
		return nil, nil, err
	}
	return list, c.of(list), nil
}

// Explain resolves the members, and counts the databases that each adds or excludes; see the
// function Resolve.
func (r *Resolver) Explain(ctx context.Context, members []targets.Member) (list []targets.Target, counts []int, err error) {
	return Resolve(ctx, members, r.list)
}

// list is the resolver's ListFunc.
func (r *Resolver) list(ctx context.Context, m targets.Member) ([]targets.Target, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listLimit, errListTimeout)
	defer cancel()
	list, err := r.listOf(ctx, m)
	if err != nil {
		return nil, causeOr(ctx, err)
	}
	return list, nil
}

// listOf lists the databases of a member.
func (r *Resolver) listOf(ctx context.Context, m targets.Member) ([]targets.Target, error) {
	switch m.Kind {
	case targets.SQLServer, targets.SQLElasticPool:
		return r.listServer(ctx, m)
	case targets.SQLShardMap:
		return r.listShardMap(ctx, m)
	case targets.Query:
		list, _, err := r.listQuery(ctx, m)
		return list, err
	case targets.Tag:
		if r.tagged != nil {
			return r.tagged(ctx, m)
		}
		fallthrough
	default:
		return nil, fmt.Errorf("a %s is not a list of databases", m.Kind)
	}
}

// engineAzureDatabase is SERVERPROPERTY('EngineEdition') of Azure SQL Database.
const engineAzureDatabase = 5

// The queries that list databases, run in master. A snapshot (source_database_id is set) is not a
// database of its own. sys.database_service_objectives exists on Azure SQL Database only.
const (
	// @@SERVERNAME is NULL between sp_dropserver and sp_addserver.
	aboutServer = `SELECT CAST(SERVERPROPERTY('EngineEdition') AS int),
    COALESCE(@@SERVERNAME, CAST(SERVERPROPERTY('ServerName') AS nvarchar(256)), N'');`

	userDatabases = `SELECT d.name, CAST(NULL AS nvarchar(128)) AS elastic_pool_name,
    CONVERT(nvarchar(36), d.service_broker_guid) AS guid
FROM sys.databases AS d
WHERE d.state = 0 AND d.source_database_id IS NULL AND d.name NOT IN (N'master', N'tempdb', N'model', N'msdb')
ORDER BY d.name;`

	azureDatabases = `SELECT d.name, o.elastic_pool_name, CONVERT(nvarchar(36), d.service_broker_guid) AS guid
FROM sys.databases AS d
LEFT OUTER JOIN sys.database_service_objectives AS o ON o.database_id = d.database_id
WHERE d.state = 0 AND d.name NOT IN (N'master', N'tempdb', N'model', N'msdb')
ORDER BY d.name;`

	shardMap = `SELECT COUNT(*) FROM __ShardManagement.ShardMapsGlobal WHERE Name = @name;`

	// shards lists the databases of a shard map. Port 0 is the default port.
	shards = `SELECT s.ServerName, s.Port, s.DatabaseName
FROM __ShardManagement.ShardsGlobal AS s
INNER JOIN __ShardManagement.ShardMapsGlobal AS m ON m.ShardMapId = s.ShardMapId
WHERE m.Name = @name AND s.Readable = 1
ORDER BY s.ServerName, s.DatabaseName;`
)
