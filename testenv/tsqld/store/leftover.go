package store

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A killed process leaves its temporary directory behind, and a directory in memory takes memory
// from all processes. So each temporary directory holds a file that its process has locked. The
// system removes the lock when the process ends, and the next process that makes a temporary
// directory removes the directories without a lock.

const (
	temporaryName = "tsqld-"
	ownerName     = "owner"
	// orphanAge is the age from which a temporary directory without an owner's file is a leftover:
	// its process was killed before it made the file.
	orphanAge = time.Hour
	// makeAttempts is enough while several processes clear without a pause: each of them takes the
	// lock of a new directory before its maker does in almost half of the attempts.
	makeAttempts = 100
)

// clearOnce limits the removal of leftovers to once per process.
var clearOnce sync.Once

// makeTemporary makes a temporary directory. The process owns it until the file is closed.
func makeTemporary() (dir string, owner *os.File, err error) {
	root := cmp.Or(temporaryRoot(), os.TempDir())
	defer clearOnce.Do(func() { clearLeftovers(root) })
	return makeIn(root)
}

// makeIn is makeTemporary under root. It retries, because another process may remove the directory
// before its owner's file is locked.
func makeIn(root string) (dir string, owner *os.File, err error) {
	for range makeAttempts {
		if dir, owner, err = makeOwned(root); err == nil {
			break
		}
	}
	return dir, owner, err
}

// makeOwned makes a temporary directory under root, and fails if another process removes it before
// the lock is taken.
func makeOwned(root string) (dir string, owner *os.File, err error) {
	if dir, err = os.MkdirTemp(root, temporaryName); err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, ownerName)
	if owner, err = lockFile(path, os.O_CREATE); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	locked, err := owner.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && !os.SameFile(locked, there) {
			err = os.ErrNotExist
		}
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, errors.Join(err, unlockFile(owner))
	}
	return dir, owner, nil
}

// clearLeftovers removes the temporary directories of processes that have ended. It ignores
// directories that it may not remove.
func clearLeftovers(root string) {
	dirs, err := filepath.Glob(filepath.Join(root, temporaryName+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		owner, err := lockFile(filepath.Join(dir, ownerName), 0)
		switch {
		case err == nil:
			_ = os.RemoveAll(dir)
			_ = unlockFile(owner)
		case os.IsNotExist(err):
			if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > orphanAge {
				_ = os.RemoveAll(dir)
			}
		}
	}
}
