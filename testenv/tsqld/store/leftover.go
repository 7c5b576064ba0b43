package store

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A temporary directory outlives a process that was killed, and where it is in memory it takes memory from everybody. So each holds a
// file that its process has locked, which the system unlocks when the process dies; the next process that makes one removes
// those of the dead.

const (
	temporaryName = "tsqld-"
	ownerName     = "owner"
	// ownerless is the age from which a temporary directory without an owner's file is left over: its process died before it made one.
	orphanAge = time.Hour
)

// clearOnce holds the removal of leftovers to once a process: it is for those that were killed, and they are few.
var clearOnce sync.Once

// makeTemporary makes a temporary directory and takes possession of it, until the file is closed.
func makeTemporary() (dir string, owner *os.File, err error) {
	root := cmp.Or(temporaryRoot(), os.TempDir())
	defer clearOnce.Do(func() { clearLeftovers(root) })
	return makeIn(root)
}

// makeIn is makeTemporary under root. Between the making of a directory's file and its lock another process may take it for left over.
func makeIn(root string) (dir string, owner *os.File, err error) {
	for range 10 {
		if dir, owner, err = makeOwned(root); err == nil {
			break
		}
	}
	return dir, owner, err
}

// makeOwned makes a temporary directory under root, unless another process removes it before it is ours.
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
		return "", nil, errors.Join(err, owner.Close())
	}
	return dir, owner, nil
}

// clearLeftovers removes the temporary directories of processes that have died. What cannot be removed is somebody else's.
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
			_ = owner.Close()
		case os.IsNotExist(err):
			if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > orphanAge {
				_ = os.RemoveAll(dir)
			}
		}
	}
}
