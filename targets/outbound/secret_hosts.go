package outbound

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// CheckSecretHosts checks the patterns of the hosts that may receive a secret $(secret.NAME). They
// are those of Credential.Hosts, and process:ENTRY for a process. The error names the first fault.
func CheckSecretHosts(patterns []string) error {
	if len(patterns) == 0 {
		return errors.New("the hosts are missing: want patterns of the hosts that may receive the secret")
	}
	for _, text := range patterns {
		if entry, isProcess := strings.CutPrefix(text, action.ProcessPrefix); isProcess {
			if !isEntryPattern(entry) {
				return fmt.Errorf("invalid host pattern %q: want process: and the name of an entry, in which * stands for any run of characters",
					text)
			}
			continue
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return fmt.Errorf("invalid host pattern %q: want ASCII; a name in other letters has a form that begins with xn--", text)
		}
		if _, err := parseHostPattern(text); err != nil {
			return err
		}
	}
	return nil
}

// isEntryPattern reports whether text is a pattern of the names of processes.
func isEntryPattern(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-*", r))
	})
}

// CheckSecrets reports whether every secret that was inserted into an expanded definition may be
// sent to everything that an attempt, which counts from 1, talks to. The error is a
// *targets.ConfigError, and the attempt must not send anything.
func CheckSecrets(d *action.Definition, attempt int) error {
	if len(d.Bound) == 0 {
		return nil
	}
	for _, address := range d.Addresses(attempt) {
		if err := CheckSecretsFor(d, address); err != nil {
			return err
		}
	}
	return nil
}

// CheckSecretsFor is CheckSecrets for one address, such as the place that a redirect names.
func CheckSecretsFor(d *action.Definition, address string) error {
	for _, s := range d.Bound {
		if !coversAddress(s.Hosts, address) {
			return &targets.ConfigError{Subject: fmt.Sprintf("secret %q", s.Name), Err: fmt.Errorf(
				"it may not be sent to %s; its hosts are %s", shownHost(address, d.Secrets), strings.Join(s.Hosts, ", "))}
		}
	}
	return nil
}

// coversAddress reports whether one of the patterns covers an address of
// action.Definition.Addresses. Patterns of hosts cover no process, and the other way round.
func coversAddress(patterns []string, address string) bool {
	if entry, isProcess := strings.CutPrefix(address, action.ProcessPrefix); isProcess {
		return slices.ContainsFunc(patterns, func(text string) bool {
			pattern, ok := strings.CutPrefix(text, action.ProcessPrefix)
			return ok && targets.MatchGlob(pattern, entry)
		})
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	host, port, err := originOf(u)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(patterns, func(text string) bool {
		if strings.HasPrefix(text, action.ProcessPrefix) {
			return false
		}
		pattern, err := parseHostPattern(text)
		return err == nil && pattern.covers(host, port)
	})
}

// shownHost returns the host of an address for a message. A template can insert a secret into a
// host, in which case is ignored; such a host is not shown.
func shownHost(address string, secrets []string) string {
	host := address
	if !strings.HasPrefix(address, action.ProcessPrefix) {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return "an invalid address"
		}
		host = u.Host
	}
	lower := strings.ToLower(host)
	if slices.ContainsFunc(secrets, func(s string) bool { return s != "" && strings.Contains(lower, strings.ToLower(s)) }) {
		return "a host that contains a secret"
	}
	return host
}
