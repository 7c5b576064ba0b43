package store

import (
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
	ownerless = time.Hour
)

// clearOnce holds the removal of leftovers to once a process: it is for those that were killed, and they are few.
var clearOnce sync.Once

// makeTemporary makes a temporary directory and takes possession of it, until the file is closed.
func makeTemporary() (dir string, owner *os.File, err error) {
	root := temporaryRoot()
	if dir, err = os.MkdirTemp(root, temporaryName); err != nil {
		return "", nil, err
	}
	owner, err = lockFile(filepath.Join(dir, ownerName), os.O_CREATE)
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	clearOnce.Do(func() { clearLeftovers(filepath.Dir(dir)) })
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
			if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > ownerless {
				_ = os.RemoveAll(dir)
			}
		}
	}
}
