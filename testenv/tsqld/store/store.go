package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Config configures a store.
type Config struct {
	// Dir holds the files; Open creates it if it is missing. "" means a temporary directory, in
	// memory where the system has a place for that, which Close removes.
	Dir string
	// Functions resolves the keys of fn, fnv and agg. Nil means that no key is known.
	Functions *Functions
	// Idle is how many released connections are kept for reuse; 0 means 8.
	Idle int
	// CommitFault is called before each commit of changes; nil for none. An error prevents the
	// commit and acts as a full disk ([ErrFull]).
	CommitFault func() error
}

const (
	suffix        = ".sqlite"
	guardFile     = "instance.lock"
	fileMode      = 0o600 // mode of all files: only the owner may read the databases
	defaultIdle   = 8
	minimumShared = 256 << 20 // free bytes that /dev/shm must have to be used
)

// Store is a set of SQLite files and the connections to them. Its methods are safe for concurrent
// use.
type Store struct {
	dir       string
	temporary bool
	functions *Functions
	idleLimit int
	fault     func() error // Config.CommitFault
	lockConn  *Conn        // holds the lock of a named directory; nil for a temporary one
	owner     *os.File     // holds the lock of a temporary one; nil for a named one

	mu     sync.Mutex
	known  map[int]fileState // by database id
	gen    int
	idle   []*Conn
	open   int
	closed bool
}

// fileState describes the file of a database. The generation distinguishes the database from an
// earlier one with the same id.
type fileState struct {
	generation int
	fresh      bool // the file may be missing or not in WAL mode
}

// ErrInUse is returned by Open if another server has the directory open.
var ErrInUse = errors.New("directory is in use by another server")

// Open opens the files in cfg.Dir. Only one process at a time can have a directory open, and only
// once.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{dir: cfg.Dir, functions: cfg.Functions, idleLimit: cfg.Idle, fault: cfg.CommitFault, known: map[int]fileState{}}
	if s.idleLimit == 0 {
		s.idleLimit = defaultIdle
	}
	if s.functions == nil {
		s.functions = &Functions{}
	}
	if err := countMemory(); err != nil {
		return nil, err
	}
	if cfg.Dir == "" {
		dir, owner, err := makeTemporary()
		if err != nil {
			return nil, fmt.Errorf("create temporary directory: %w", err)
		}
		s.dir, s.temporary, s.owner = dir, true, owner
		return s, nil
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	if err := s.lockDirectory(ctx); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(cfg.Dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read directory: %w", err), s.lockConn.close())
	}
	for _, e := range entries {
		if id, ok := fileID(e.Name()); ok {
			s.known[id] = fileState{}
		}
		base, _, _ := strings.Cut(e.Name(), suffix)
		if _, ok := fileID(base + suffix); ok || e.Name() == guardFile {
			// Earlier versions left the mode to SQLite, which lets all users read.
			if err := os.Chmod(filepath.Join(cfg.Dir, e.Name()), fileMode); err != nil {
				return nil, errors.Join(fmt.Errorf("restrict the file mode: %w", err), s.lockConn.close())
			}
		}
	}
	return s, nil
}

// temporaryRoot returns a directory in memory with enough room, or "" (the default) if there is
// none.
func temporaryRoot() string {
	const shm = "/dev/shm"
	if info, err := os.Stat(shm); err != nil || !info.IsDir() || freeBytes(shm) < minimumShared {
		return ""
	}
	probe, err := os.MkdirTemp(shm, temporaryName)
	if err != nil {
		return ""
	}
	if os.Remove(probe) != nil {
		return ""
	}
	return shm
}

// fileID parses the database id in a file name d<id>.sqlite.
func fileID(name string) (int, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutPrefix(digits, "d")
	if !ok {
		return 0, false
	}
	id, err := strconv.Atoi(digits)
	return id, err == nil && id > 0
}

// lockDirectory takes a SQLite lock on a file of its own. The system releases the lock when the
// process ends.
func (s *Store) lockDirectory(ctx context.Context) error {
	lock := filepath.Join(s.dir, guardFile)
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE, fileMode)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", lock, err)
	}
	c, err := openConn(s)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "PRAGMA busy_timeout=0", nil)
	if err == nil {
		_, err = c.Exec(ctx, "ATTACH ?1 AS instance", []any{lock})
	}
	if err == nil {
		_, err = c.Exec(ctx, "BEGIN EXCLUSIVE", nil)
	}
	if err != nil {
		if errors.Is(err, ErrBusy) {
			err = fmt.Errorf("open %s: %w", s.dir, ErrInUse)
		}
		return errors.Join(err, c.close())
	}
	s.lockConn = c
	return nil
}

// Path returns the path of a database's file.
func (s *Store) Path(id int) string {
	return filepath.Join(s.dir, "d"+strconv.Itoa(id)+suffix)
}

// IDs returns the ids of the databases that have a file, in order.
func (s *Store) IDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]int, 0, len(s.known))
	for id := range s.known {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Create makes an empty database. It fails with os.ErrExist if there is one. The file is created at
// the first use of the database, which should be outside a transaction.
func (s *Store) Create(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.known[id]; exists {
		return fmt.Errorf("create database %d: %w", id, os.ErrExist)
	}
	// SQLite creates the other files of the database with this file's mode
	// (https://www.sqlite.org/tempfiles.html lists them).
	f, err := os.OpenFile(s.Path(id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("create database %d: %w", id, err)
	}
	s.gen++
	s.known[id] = fileState{generation: s.gen, fresh: true}
	return nil
}

// CreateCopy adds a database with the committed content of another one, which c reads. c must not
// be in a transaction. The error matches os.ErrExist if the id exists.
func (s *Store) CreateCopy(ctx context.Context, c *Conn, from, to int) error {
	if err := s.Create(to); err != nil {
		return err
	}
	if err := s.vacuumInto(ctx, c, from, s.Path(to)); err != nil {
		return errors.Join(err, s.Drop(to))
	}
	return nil
}

// vacuumInto writes the committed content of a database to a file that is missing or empty.
func (s *Store) vacuumInto(ctx context.Context, c *Conn, id int, path string) error {
	if err := c.Databases.Attach(ctx, id); err != nil {
		return err
	}
	for len(c.Databases.attached) >= MaxAttached { // VACUUM INTO attaches one more
		if err := c.Databases.evict(ctx, []int{id}); err != nil {
			return err
		}
	}
	if _, err := c.Exec(ctx, "VACUUM "+alias(id)+" INTO ?1", []any{path}); err != nil {
		return fmt.Errorf("copy database %d: %w", id, err)
	}
	return nil
}

// Content returns the committed content of a database, which c reads. c must not be in a
// transaction.
func (s *Store) Content(ctx context.Context, c *Conn, id int) ([]byte, error) {
	if err := s.vacuumInto(ctx, c, id, s.Path(id)+contentTail); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(s.Path(id) + contentTail)
	if err = errors.Join(err, os.Remove(s.Path(id)+contentTail)); err != nil {
		return nil, fmt.Errorf("read database %d: %w", id, err)
	}
	return content, nil
}

// contentTail ends the name of the file of [Store.Content].
const contentTail = "-content"

// CreateWith adds a database with a content that [Store.Content] has returned, of this store or of
// another one. The error matches os.ErrExist if the id exists.
func (s *Store) CreateWith(id int, content []byte) error {
	if err := s.Create(id); err != nil {
		return err
	}
	if err := os.WriteFile(s.Path(id), content, fileMode); err != nil {
		return errors.Join(fmt.Errorf("write database %d: %w", id, err), s.Drop(id))
	}
	return nil
}

// markReady records that the file of a database is in WAL mode.
func (s *Store) markReady(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in, ok := s.known[id]; ok {
		in.fresh = false
		s.known[id] = in
	}
}

// Drop removes the files of a database, which no session may use. Connections with the database
// attached detach it when they are used or released next. Dropping a missing database is not an
// error.
func (s *Store) Drop(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
	var errs []error
	for _, c := range s.idle {
		errs = append(errs, c.Databases.detachUnknown(s.known))
	}
	for _, tail := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(s.Path(id) + tail); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// fileState returns the state of a database's file, and whether the database exists.
func (s *Store) fileState(id int) (fileState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.known[id]
	return in, ok
}

// ErrClosed is returned by Acquire after Close.
var ErrClosed = errors.New("store is closed")

// Acquire returns a connection, a pooled one if there is any. The caller must use it from one
// goroutine at a time, and Release it.
func (s *Store) Acquire(ctx context.Context) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.open++
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	c, err := openConn(s)
	if err != nil {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}
	return c, err
}

// Release takes a connection back: it closes open results, rolls back an open transaction and drops
// temporary objects. It closes a connection that cannot be cleaned.
func (s *Store) Release(c *Conn) {
	s.mu.Lock()
	if s.closed || c.calls.unusable || len(s.idle) >= s.idleLimit { // the connection is not reused and needs no cleaning
		s.open--
		s.mu.Unlock()
		c.closeQuietly()
		return
	}
	s.mu.Unlock()
	err := c.clean()
	s.mu.Lock()
	s.open--
	if err == nil {
		err = c.Databases.detachUnknown(s.known)
	}
	keep := err == nil && !s.closed && len(s.idle) < s.idleLimit
	if keep {
		s.idle = append(s.idle, c)
	}
	s.mu.Unlock()
	if !keep {
		c.closeQuietly()
	}
}

// Close closes all idle connections and removes a temporary directory. All connections must be
// released before. The error names those that are not; Release closes them.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	idle, open := s.idle, s.open
	s.idle = nil
	s.mu.Unlock()
	var errs []error
	for _, c := range idle {
		errs = append(errs, c.close())
	}
	if open > 0 {
		errs = append(errs, fmt.Errorf("%d connections are still in use", open))
	}
	if s.lockConn != nil {
		errs = append(errs, s.lockConn.close())
	}
	if s.temporary {
		errs = append(errs, unlockFile(s.owner), os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
