package sap

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Config is the section rest.sap of the configuration.
type Config struct {
	// Instances are the service instances.
	Instances []Instance `json:"instances"`
	// Limit bounds the requests of all callers together; requests beyond it get status 503. By
	// default answers are delayed from 2,000 requests a minute on, and 5,000 are allowed.
	Limit RateLimit `json:"limit"`
}

// Instance is a service instance: a control database, and the tenant of its provider. The part
// about credentials of callers is auth.Instance.
type Instance struct {
	// Name is the instance's name, unique in the configuration.
	Name string `json:"name"`
	// Database is the name of an entry of control_databases; empty means the first one.
	Database string `json:"database"`
	// Tenant and SubDomain are those of the provider.
	Tenant    string `json:"tenant"`
	SubDomain string `json:"subdomain"`
	// Credential names the credential of the agents' configuration with which they call actions
	// (S-52). It may be empty only if AllowAnonymousActions is set.
	Credential            string `json:"credential"`
	AllowAnonymousActions bool   `json:"allow_anonymous_actions"`
	// Events names the alert channel of the control database to which the events of runs are sent,
	// for which jobs ask by ansConfig (S-65); empty means that none are sent.
	Events string `json:"events"`
	// RequireHTTPS refuses actions with plain http, which SAP's API permits.
	RequireHTTPS bool `json:"require_https"`
	// LegacyUnpaged returns all jobs from GET /jobs without a page, as SAP's service did (S-20).
	LegacyUnpaged bool `json:"legacy_unpaged"`
	// Tasks are the entries of the agents' configuration (processes) that jobs of the type CF_TASK
	// may run. Without them, the API creates no such jobs, as SAP's. They are jobs of the provider.
	Tasks []string `json:"tasks"`
	// Limit bounds the requests of a tenant; requests beyond it get status 429. By default answers
	// are delayed from 300 requests a minute on, and 600 are allowed (S-64).
	Limit RateLimit `json:"limit"`
}

// RateLimit bounds requests a minute, in each process.
type RateLimit struct {
	// Throttle is the number of requests a minute from which on answers are delayed, at most 5 s.
	// Deny is the number of requests a minute that are allowed. 0 means no limit, and nil means the
	// default.
	Throttle *int `json:"throttle"`
	Deny     *int `json:"deny"`
}

// maxTenant bounds the ids and subdomains of tenants, in UTF-16 units: a procedure would cut off a
// longer one.
const maxTenant = 128

// Check returns all errors of the configuration. databases are the names of control_databases; nil
// means that the names of databases are not checked.
func (c Config) Check(databases []string) error {
	var all []error
	fault := func(format string, args ...any) { all = append(all, fmt.Errorf(format, args...)) }
	c.Limit.check("sap.limit", fault)
	names, places := map[string]bool{}, map[string]string{}
	for i, one := range c.Instances {
		path := fmt.Sprintf("sap.instances[%d]", i)
		switch {
		case one.Name == "":
			fault("%s.name is missing", path)
		case names[one.Name]:
			fault("%s.name: two instances have the name %q", path, one.Name)
		}
		names[one.Name] = true
		if one.Tenant == "" || wording.Length(one.Tenant, wording.UTF16) > maxTenant {
			fault("%s.tenant: want the id of the provider's tenant, of at most %d characters", path, maxTenant)
		}
		if wording.Length(one.SubDomain, wording.UTF16) > maxTenant {
			fault("%s.subdomain: want at most %d characters", path, maxTenant)
		}
		if wording.Length(one.Events, wording.UTF16) > maxTenant {
			fault("%s.events: want the name of an alert channel, of at most %d characters", path, maxTenant)
		}
		if one.Credential == "" && !one.AllowAnonymousActions {
			fault("%s.credential is missing: name a credential of the agents, or set allow_anonymous_actions", path)
		}
		if one.Credential != "" && one.AllowAnonymousActions {
			fault("%s.allow_anonymous_actions: the instance has a credential", path)
		}
		for j, entry := range one.Tasks {
			d := action.Definition{Type: action.TypeProcess, Process: &action.Process{Entry: entry}}
			if _, err := action.Decode(d.Type, d.Encode()); err != nil || entry == "" {
				fault("%s.tasks[%d]: invalid name %q: want the name of an entry of processes in the agents' configuration", path, j, entry)
			}
		}
		place, known := one.Database, one.Database == "" || databases == nil
		if known && len(databases) > 0 {
			place = databases[0]
		}
		for _, name := range databases {
			known = known || name == one.Database
		}
		switch other := places[place]; {
		case !known:
			fault("%s.database: control_databases has no entry %q", path, one.Database)
		case other != "":
			fault("%s.database: the instance %q has the same control database", path, other)
		}
		places[place] = one.Name
		one.Limit.check(path+".limit", fault)
	}
	return errors.Join(all...)
}

func (l RateLimit) check(path string, fault func(string, ...any)) {
	l = l.or(limits{0, 0})
	switch {
	case *l.Throttle < 0 || *l.Deny < 0:
		fault("%s: want numbers of at least 0", path)
	case *l.Deny > 0 && *l.Throttle > *l.Deny:
		fault("%s.throttle: want at most deny, %d", path, *l.Deny)
	}
}

// or returns the limit with defaults for absent members.
func (l RateLimit) or(d limits) RateLimit {
	if l.Throttle == nil {
		l.Throttle = &d.throttle
	}
	if l.Deny == nil {
		l.Deny = &d.deny
	}
	return l
}

// ServiceURL returns the address that SAP's client takes as baseURL, and that agents send as
// x-sap-scheduler-host: without a slash at the end, and without /scheduler.
func ServiceURL(publicURL string) (string, error) {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" {
		return "", errors.New("invalid public URL: want an absolute URL")
	}
	return strings.TrimSuffix(publicURL, "/"), nil
}
