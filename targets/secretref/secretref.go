// Package secretref reads references to secrets. A configuration names a secret as "env:NAME", an
// environment variable, or as "file:PATH", a file; the secret itself is in no configuration
// (invariant I9).
//
// Common mistakes:
//
//   - To print a text that is not a valid reference. It may be the secret itself.
//   - To keep what [Read] returned. Read it again at the next login, so that a changed secret needs
//     no restart.
package secretref

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jobagent/jobagent/jobs/textfile"
)

const (
	envScheme  = "env:"
	fileScheme = "file:"
)

// ErrInvalid means that a text is not a reference. The error does not repeat the text.
var ErrInvalid = errors.New("invalid secret reference: want env:NAME or file:PATH")

// IsReference reports whether text has the form of a reference. What it refers to may not exist.
func IsReference(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	return ok && (scheme+":" == envScheme || scheme+":" == fileScheme) && strings.TrimSpace(rest) != ""
}

// File returns the path of a reference to a file, and false for every other text.
func File(text string) (path string, ok bool) {
	if !IsReference(text) {
		return "", false
	}
	return strings.CutPrefix(text, fileScheme)
}

// Read returns the secret that a reference names. A secret is never empty. One line end at the end
// of a file is not part of the secret. A file is text, as [textfile.Decode] reads it. The error
// names the variable or the file, never the secret.
func Read(reference string) (string, error) {
	if !IsReference(reference) {
		return "", ErrInvalid
	}
	if path, ok := File(reference); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read the secret: %w", err)
		}
		if text, err = textfile.Decode(text); err != nil {
			return "", fmt.Errorf("read the secret: %s: %w", path, err)
		}
		secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		if secret == "" {
			return "", fmt.Errorf("the file %s is empty", path)
		}
		return secret, nil
	}
	name := strings.TrimPrefix(reference, envScheme)
	secret, ok := os.LookupEnv(name)
	switch {
	case !ok:
		return "", fmt.Errorf("the environment variable %s is not set", name)
	case secret == "":
		return "", fmt.Errorf("the environment variable %s is empty", name)
	}
	return secret, nil
}
