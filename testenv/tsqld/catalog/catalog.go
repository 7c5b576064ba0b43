package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// Snapshot is the state of the instance at one moment. It is immutable. Snapshot is the state of
// the instance at one moment. It is immutable.
type Snapshot struct {
	Version   int64 // increases with every publication
	databases map[int]*Database
	byName    map[string]*Database
}

// Database finds a database by name; nil if there is none.
func (s *Snapshot) Database(name string) *Database { return s.byName[Fold(name)] }

// DatabaseByID finds a database by id; nil if there is none.
func (s *Snapshot) DatabaseByID(id int) *Database { return s.databases[id] }

// Databases returns all databases by id.
func (s *Snapshot) Databases() []*Database {
	return slices.SortedFunc(maps.Values(s.databases), func(a, b *Database) int { return cmp.Compare(a.ID, b.ID) })
}

// Login finds a login by name; nil if there is none.
func (s *Snapshot) Login(name string) *Login { return s.databases[DatabaseMaster].logins[Fold(name)] }

// LoginBySID finds a login by its security id; nil if there is none.
func (s *Snapshot) LoginBySID(sid []byte) *Login {
	for _, l := range s.databases[DatabaseMaster].logins {
		if slices.Equal(l.SID, sid) {
			return l
		}
	}
	return nil
}

// Logins returns all logins by id.
func (s *Snapshot) Logins() []*Login {
	return slices.SortedFunc(maps.Values(s.databases[DatabaseMaster].logins), func(a, b *Login) int {
		return cmp.Compare(a.ID, b.ID)
	})
}

// Catalog holds the current snapshot of an instance. It is safe for concurrent use.
type Catalog struct {
	store   *store.Store
	mu      sync.Mutex // serializes publications
	current atomic.Pointer[Snapshot]
	nextID  int // under mu
}

// Open loads the catalog of all databases of a store and creates missing system databases. tempdb
// starts as a copy of model. saPassword replaces the password of sa; if it is empty, sa is
// disabled. now is a datetime.
func Open(ctx context.Context, st *store.Store, saPassword string, now int64) (*Catalog, error) {
	cat := &Catalog{store: st, nextID: firstDatabase}
	s := &Snapshot{Version: 1, databases: map[int]*Database{}, byName: map[string]*Database{}}
	c, err := st.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer st.Release(c)
	for _, id := range st.IDs() {
		d, ok, err := load(ctx, c, id)
		if err != nil {
			return nil, fmt.Errorf("load database %d: %w", id, err)
		}
		if id == DatabaseTemp || !ok {
			if err := st.Drop(id); err != nil {
				return nil, fmt.Errorf("drop the uncommitted database %d: %w", id, err)
			}
			continue
		}
		s.databases[id] = d
		cat.nextID = max(cat.nextID, id+1)
	}
	for id, name := range map[int]string{DatabaseMaster: "master", DatabaseModel: "model", DatabaseMSDB: "msdb"} {
		if d := s.databases[id]; d != nil {
			// Earlier versions allowed renaming system databases and taking them offline. No login
			// was possible afterwards.
			d.Name, d.Options.Offline = name, false
		}
		if s.databases[id] == nil {
			s.databases[id] = emptyDatabase(id, name, Epoch)
			s.databases[id].Version = 1
			if err := st.Create(id); err != nil && !slices.Contains(st.IDs(), id) {
				return nil, err
			}
		}
	}
	// "tempdb is re-created every time SQL Server is started", and model is its template
	// (https://learn.microsoft.com/sql/relational-databases/databases/model-database, "model
	// Usage").
	temp, err := cat.fromModel(ctx, s.databases[DatabaseModel], DatabaseTemp, Epoch)
	if err != nil {
		return nil, err
	}
	temp.Name, temp.Version = "tempdb", 1
	s.databases[DatabaseTemp] = temp
	setSA(s.databases[DatabaseMaster], saPassword)
	for _, d := range s.databases {
		if other := s.byName[Fold(d.Name)]; other != nil {
			return nil, fmt.Errorf("databases %d and %d have the same name %q", d.ID, other.ID, d.Name)
		}
		s.byName[Fold(d.Name)] = d
	}
	cat.current.Store(s)
	return cat, nil
}

// setSA sets the password of sa for this process. The password is not stored.
func setSA(d *Database, password string) {
	sa := d.logins["sa"]
	if sa == nil {
		sa = &Login{ID: 1, Name: "sa", SID: SAID, DefaultDatabase: "master", Created: Epoch, Modified: Epoch}
	}
	sa.Roles = []string{"sysadmin"}
	sa.Disabled = password == ""
	sa.PasswordHash = HashPassword(password)
	d.logins["sa"] = sa
}

// Snapshot returns the committed state of the instance.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// Publish makes committed versions of databases visible to all sessions. The caller must still hold
// the writer locks of the databases, so that no other version was published meanwhile. If another
// database has taken a name meanwhile, the error is 1801.
func (c *Catalog) Publish(dbs ...*Database) error {
	if len(dbs) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.clone()
	for _, d := range dbs {
		if other := s.byName[Fold(d.Name)]; other != nil && other.ID != d.ID {
			return mserr.DatabaseExists(d.Name)
		}
		if old := s.databases[d.ID]; old != nil {
			delete(s.byName, Fold(old.Name))
		}
		s.databases[d.ID] = d
		s.byName[Fold(d.Name)] = d
	}
	c.current.Store(s)
	return nil
}

// clone returns a copy of the current snapshot. c.mu must be held.
func (c *Catalog) clone() *Snapshot {
	old := c.current.Load()
	return &Snapshot{Version: old.Version + 1, databases: maps.Clone(old.databases), byName: maps.Clone(old.byName)}
}

// CreateDatabase creates and publishes a database. Except for the options it is a copy of model,
// including users and permissions: "When a CREATE DATABASE statement is issued, the first part of
// the database is created by copying in the contents of the model database"
// (https://learn.microsoft.com/sql/relational-databases/databases/model-database). CREATE DATABASE
// is not allowed in a transaction, so that CreateDatabase uses its own and takes no lock. If the
// name is taken, the error is 1801.
func (c *Catalog) CreateDatabase(
	ctx context.Context, name string, owner []byte, opts Options, now int64,
) (*Database, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.clone()
	if s.Database(name) != nil {
		return nil, mserr.DatabaseExists(name)
	}
	id := c.nextID
	d, err := c.fromModel(ctx, s.databases[DatabaseModel], id, now)
	if err != nil {
		return nil, err
	}
	c.nextID++
	d.Name, d.OwnerID, d.Options = name, owner, opts
	d.setNames()
	if d, err = c.initialize(ctx, d, DatabaseModel, now); err != nil {
		return nil, errors.Join(err, c.store.Drop(id))
	}
	s.databases[id], s.byName[Fold(name)] = d, d
	c.current.Store(s)
	return d, nil
}

// fromModel creates the file of a database and returns its catalog before [Catalog.initialize].
// Both are copies of model, if model was ever changed.
func (c *Catalog) fromModel(ctx context.Context, model *Database, id int, now int64) (*Database, error) {
	if model == nil || !model.stored {
		return emptyDatabase(id, "", now), c.store.Create(id)
	}
	conn, err := c.store.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.store.Release(conn)
	if err := c.store.CreateCopy(ctx, conn, DatabaseModel, id); err != nil {
		return nil, err
	}
	return c.copied(ctx, conn, id, now)
}

// copied reads the catalog of a database whose file is a copy of another database's, before
// [Catalog.initialize]. If it fails, the file is dropped.
func (c *Catalog) copied(ctx context.Context, conn *store.Conn, id int, now int64) (*Database, error) {
	d, _, err := load(ctx, conn, id) // the copy has no row of its own yet
	if err == nil && d == nil {
		err = errors.New("the copied file has no catalog")
	}
	if err != nil {
		return nil, errors.Join(err, c.store.Drop(id))
	}
	d.Created, d.stored = now, false
	return d, nil
}

// initialize writes the first version of a database, whose file may be a copy of another one's.
func (c *Catalog) initialize(ctx context.Context, d *Database, from int, now int64) (*Database, error) {
	conn, err := c.store.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.store.Release(conn)
	if err := conn.Use(ctx, d.ID); err != nil {
		return nil, err
	}
	if err := conn.Begin(ctx); err != nil {
		return nil, err
	}
	e := d.Edit(now)
	if from != d.ID {
		e.dirty[defKey{defDatabase, int64(from)}] = nil // the row of the other database in the copied file
	}
	dbo := e.db.Principals.byID[PrincipalDBO].Clone()
	dbo.SID = d.OwnerID
	e.PutPrincipal(dbo)
	d, err = e.Apply(ctx, conn)
	if err != nil {
		return nil, err
	}
	return d, conn.Commit()
}

// DropDatabase removes a database and its file. No session may use the database.
func (c *Catalog) DropDatabase(d *Database) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.clone()
	if cur := s.databases[d.ID]; cur != nil {
		delete(s.byName, Fold(cur.Name))
	}
	delete(s.databases, d.ID)
	c.current.Store(s)
	return c.store.Drop(d.ID)
}
