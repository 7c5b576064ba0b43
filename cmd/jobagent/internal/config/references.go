package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Unreadable returns an error for each reference of credentials, secrets and keys that cannot be
// read now, with the path of the setting. An agent reads them again at each use, so a file may come
// later; but a mistyped name never will.
func (c File) Unreadable() (errs []error) {
	check := func(path, reference string) {
		if !secretref.IsReference(reference) {
			return // missing, or refused elsewhere; it may be the secret itself
		}
		if _, err := secretref.Read(reference); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	for i, one := range c.Credentials {
		check(fmt.Sprintf("credentials[%d].secret", i), one.Secret)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		check("secrets."+name, c.Secrets[name].Reference)
	}
	for i, reference := range c.SecretKeys {
		check(fmt.Sprintf("secret_keys[%d]", i), reference)
	}
	return errs
}

// CheckForms reports faults of the credentials and of the section tracing, without a server.
func (c File) CheckForms() error {
	list, err := Credentials(c)
	errs := []error{err}
	for _, one := range list {
		errs = append(errs, one.Validate())
	}
	_, err = c.Tracing.Recorder()
	if err := errors.Join(append(errs, err)...); err != nil {
		return exit.Usage(err)
	}
	return nil
}
