package sap

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// Binding describes a service binding for an application: what SAP's client reads from the
// environment variable VCAP_SERVICES.
type Binding struct {
	// Name is the name of the service instance.
	Name string
	// PublicURL is the address of the front.
	PublicURL string
	// Tenant is the tenant whose tokens the client gets: its id, or its subdomain. It has no effect
	// for User.
	Tenant string
	// ClientID and ClientSecret are the credentials of a client of the front's own issuer.
	ClientID, ClientSecret string
	// CertURL, Certificate and Key replace the secret: the address of the front for mutual TLS, and
	// PEM texts.
	CertURL, Certificate, Key string
	// User and Password are those of Basic, as in SAP's plan lite, in place of a client.
	User, Password string
}

// vcapService is a service in VCAP_SERVICES.
type vcapService struct {
	Name        string          `json:"name"`
	Label       string          `json:"label"`
	Plan        string          `json:"plan"`
	Tags        []string        `json:"tags"`
	Credentials vcapCredentials `json:"credentials"`
}

type vcapCredentials struct {
	URL      string   `json:"url"`
	User     string   `json:"user,omitempty"`
	Password string   `json:"password,omitempty"`
	UAA      *vcapUAA `json:"uaa,omitempty"`
}

type vcapUAA struct {
	URL            string `json:"url"`
	ClientID       string `json:"clientid"`
	ClientSecret   string `json:"clientsecret,omitempty"`
	CertURL        string `json:"certurl,omitempty"`
	Certificate    string `json:"certificate,omitempty"`
	Key            string `json:"key,omitempty"`
	IdentityZone   string `json:"identityzone"`
	TenantID       string `json:"tenantid"`
	CredentialType string `json:"credential-type"`
}

// VCAPServices returns the value of VCAP_SERVICES (S-57). It contains the secrets of the binding.
func (b Binding) VCAPServices() ([]byte, error) {
	address, err := ServiceURL(b.PublicURL)
	if err != nil {
		return nil, err
	}
	s := vcapService{Name: b.Name, Label: "jobscheduler", Plan: "standard", Tags: []string{"jobscheduler"}, Credentials: vcapCredentials{URL: address}}
	switch {
	case b.User != "" && b.ClientID != "":
		return nil, errors.New("a binding has a user or a client, not both")
	case b.User != "":
		s.Plan, s.Credentials.User, s.Credentials.Password = "lite", b.User, b.Password
	case b.ClientID == "":
		return nil, errors.New("a binding needs a client or a user")
	default:
		u := &vcapUAA{
			URL: address + "/uaa/" + url.PathEscape(b.Tenant), ClientID: b.ClientID, ClientSecret: b.ClientSecret, IdentityZone: b.Tenant,
			TenantID: b.Tenant, CredentialType: "binding-secret",
		}
		if b.Certificate != "" {
			u.ClientSecret, u.CredentialType = "", "x509"
			u.CertURL, u.Certificate, u.Key = b.CertURL+"/uaa/"+url.PathEscape(b.Tenant), b.Certificate, b.Key
		}
		s.Credentials.UAA = u
	}
	text, err := json.MarshalIndent(map[string][]vcapService{"jobscheduler": {s}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the binding: %w", err)
	}
	return text, nil
}
