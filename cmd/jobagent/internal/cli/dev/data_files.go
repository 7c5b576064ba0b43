package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref/privatefile"
)

// openData returns the data directory and what releases it. Nothing is written before the directory
// is known to be one of `jobagent dev`, or empty, and in no other process's use.
func openData(dir string) (data string, release func(), err error) {
	if dir == "" {
		if data, err = os.MkdirTemp("", "jobagent-dev-"); err != nil {
			return "", nil, fmt.Errorf("create a directory for the data: %w", err)
		}
		return data, func() { _ = os.RemoveAll(data) }, nil
	}
	if err := checkOwn(dir); err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, exit.Usagef("data directory: %w", err)
	}
	unlock, err := embedded.LockDirectory(dir)
	return dir, unlock, err
}

// ownFiles are entries by which a data directory is recognized.
var ownFiles = []string{
	databasesDir, agentIDFile, passwordFile, CertificateFile, RESTTokenFile, embedded.ConfigFile, embedded.TargetPasswordFile,
}

// checkOwn refuses a directory that exists, has files, and none of a data directory: a person may
// have named the wrong one.
func checkOwn(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return exit.Usagef("data directory: %w", err)
	}
	other := ""
	for _, e := range entries {
		if slices.Contains(ownFiles, e.Name()) {
			return nil
		}
		if e.Name() != embedded.LockFile && e.Name() != "lost+found" {
			other = e.Name()
		}
	}
	if other != "" {
		return exit.Usagef("%s is not a data directory of jobagent dev: it has %q; name an empty directory, or one that does not exist yet", dir, other)
	}
	return nil
}

// loadPassword returns the password of sa, which stays with the data: a given one is stored, and
// without one the stored one holds. It logs what happened, without the password.
func loadPassword(dir, given string, log *zap.Logger) (string, error) {
	path := filepath.Join(dir, passwordFile)
	_, err := os.Stat(filepath.Join(dir, databasesDir))
	used := err == nil
	b, err := os.ReadFile(path)
	stored := strings.TrimSpace(string(b))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("read the password of sa: %w", err)
	case given == "" && stored != "":
		log.Info("the password of sa is stored in a file", zap.String("file", path))
		return stored, nil
	case given != "" && given == stored:
		return given, nil
	}
	password := given
	if password == "" {
		password = embedded.RandomPassword()
	}
	if err := privatefile.Replace(path, []byte(password+"\n")); err != nil {
		return "", fmt.Errorf("store the password of sa: %w", err)
	}
	switch {
	case stored != "":
		log.Warn("the password of sa was changed to the one that was given", zap.String("file", path))
	case used:
		log.Warn("these data have no stored password of sa: clients need the one in the file from now on", zap.String("file", path))
	default:
		log.Info("the password of sa is stored in a file", zap.String("file", path))
	}
	return password, nil
}

// loadOrCreateText reads a text from a file in dir. If there is no such file, it creates one with
// mode 0600.
func loadOrCreateText(dir, name string, newText func() string) (string, error) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	text := newText()
	return text, os.WriteFile(path, []byte(text+"\n"), 0o600)
}
