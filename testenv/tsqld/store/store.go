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

// Config says where a store keeps its files.
type Config struct {
	// Dir holds the files; it is created when missing. Empty means a temporary directory, in memory where the system
	// has a place for that, which Close removes.
	Dir string
	// Functions resolves the keys of fn, fnv and agg. Nil means that no key is known.
	Functions *Functions
	// Idle is how many released connections are kept for reuse; 0 means 8.
	Idle int
	// CommitFault is asked before each commit of a transaction; an error keeps SQLite from it and stands for a full disk ([ErrFull]).
	// Nil for none.
	CommitFault func() error
}

const (
	suffix        = ".sqlite"
	guardFile     = "instance.lock"
	fileMode      = 0o600 // of all files: the databases hold what others may not read
	defaultIdle   = 8
	minimumShared = 256 << 20 // bytes that must be free in /dev/shm to use it
)

// Store is a set of SQLite files and the connections to them. Its methods are safe for concurrent use.
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

// incarnation tells a database from an earlier one with the same id.
type fileState struct {
	generation int
	fresh      bool // the file may not exist yet, or not be in WAL mode
}

// ErrInUse is returned by Open when another server has the directory open.
var ErrInUse = errors.New("directory is in use by another server")

// Open opens the files in cfg.Dir. One directory can be open once at a time, over all processes.
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
			// Earlier versions left the mode to SQLite, which lets everybody read.
			if err := os.Chmod(filepath.Join(cfg.Dir, e.Name()), fileMode); err != nil {
				return nil, errors.Join(fmt.Errorf("keep others from reading the database: %w", err), s.lockConn.close())
			}
		}
	}
	return s, nil
}

// temporaryRoot is a directory in memory if the system has one with enough room, else "" (the default).
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

// fileID reads the database id off a file name d<id>.sqlite.
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

// lockDirectory takes a SQLite lock on a file of its own, which the system releases when the process dies.
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

// Path is the file of a database.
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

// Create makes an empty database; it fails with os.ErrExist if there is one. The file appears when a
// connection uses the database first, which should be outside a transaction.
func (s *Store) Create(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.known[id]; exists {
		return fmt.Errorf("create database %d: %w", id, os.ErrExist)
	}
	// SQLite gives its further files of the database the mode of this one (https://www.sqlite.org/tempfiles.html says which those are).
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

// CreateCopy adds a database with what is committed in another one, which c reads; c must not be in a transaction. The error matches
// os.ErrExist if there is one of the id.
func (s *Store) CreateCopy(ctx context.Context, c *Conn, from, to int) error {
	if err := c.Use(ctx, from); err != nil {
		return err
	}
	for len(c.attached) >= MaxAttached { // VACUUM attaches one
		if err := c.evict(ctx, []int{from}); err != nil {
			return err
		}
	}
	if err := s.Create(to); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "VACUUM "+alias(from)+" INTO ?1", []any{s.Path(to)}); err != nil {
		return errors.Join(fmt.Errorf("copy database %d: %w", from, err), s.Drop(to))
	}
	return nil
}

// settled notes that the file of a database is in WAL mode.
func (s *Store) markReady(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in, ok := s.known[id]; ok {
		in.fresh = false
		s.known[id] = in
	}
}

// Drop removes the files of a database, which must not be in use by a session. Connections that still have
// it attached let go of it when they are used or released next. Dropping what does not exist is no error.
func (s *Store) Drop(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
	var errs []error
	for _, c := range s.idle {
		errs = append(errs, c.detachUnknown(s.known))
	}
	for _, tail := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(s.Path(id) + tail); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// incarnation answers whether a database exists, and which of its incarnations.
func (s *Store) fileState(id int) (fileState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.known[id]
	return in, ok
}

// ErrClosed is returned by Acquire after Close.
var ErrClosed = errors.New("store is closed")

// Acquire hands out a connection, a pooled one if there is any. The caller must give it to Release, and
// use it from one goroutine at a time.
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

// Release takes a connection back: open rows are closed, an open transaction is rolled back, temporary
// objects are dropped. A connection that cannot be cleaned is closed.
func (s *Store) Release(c *Conn) {
	s.mu.Lock()
	if s.closed || c.unusable || len(s.idle) >= s.idleLimit { // nobody will use it again: no need to clean it
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
		err = c.detachUnknown(s.known)
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

// Close closes all idle connections and removes a temporary directory. All connections must have been
// released; those that were not are named in the error and closed when they are.
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
		errs = append(errs, s.owner.Close(), os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}
