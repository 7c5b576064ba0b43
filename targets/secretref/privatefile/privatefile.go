// Package privatefile changes files that only their owner may read, such as those of tokens,
// passwords and connections: several processes may do so at the same time, and readers see the
// content before or after a change.
package privatefile

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes a file of mode 0600, or leaves it as it was. The content is on the disk when
// Replace returns.
func Replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") // has mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Lock waits for the lock of a file, which it creates, and returns the function that releases it.
// The file remains: another process may wait for its lock.
func Lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return func() { _ = f.Close() }, nil // closing releases the lock
}
