package dev

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

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
