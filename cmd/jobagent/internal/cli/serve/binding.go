package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/rest/sap"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/secretref"
)

// bindingFlags are the flags of `jobagent serve binding`.
type bindingFlags struct {
	tenant, client, user     string
	secret, certificate, key string
}

// newBindingCommand returns `jobagent serve binding`.
func newBindingCommand(a *connect.App) *cobra.Command {
	var f bindingFlags
	cmd := &cobra.Command{
		Use: "binding INSTANCE", Short: "Print a service binding for SAP's client @sap/jobs-client",
		Long: `Print a value of the environment variable VCAP_SERVICES, from which an application takes the address
of this front and its credentials. INSTANCE is the name of an instance of the configuration
(rest.sap.instances), and the client or user is one of that instance.

The output contains the secret. The configuration has only a hash of it, so that the secret is
given as env:NAME or file:PATH.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := a.Config()
			if err != nil {
				return err
			}
			b, err := f.binding(file.REST, args[0])
			if err != nil {
				return exit.Usage(err)
			}
			text, err := b.VCAPServices()
			if err != nil {
				return exit.Usage(err)
			}
			return a.Emit(json.RawMessage(text), func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\n", text)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "tenant of the client's tokens: its ID or subdomain (default: the provider's)")
	cmd.Flags().StringVar(&f.client, "client", "", "ID of the client (default: the first one of the instance)")
	cmd.Flags().StringVar(&f.user, "user", "", "user of Basic, in place of a client")
	cmd.Flags().StringVar(&f.secret, "secret", "", "the client's secret or the user's password: env:NAME or file:PATH")
	cmd.Flags().StringVar(&f.certificate, "certificate", "", "the client's certificate as PEM, in place of a secret: env:NAME or file:PATH")
	cmd.Flags().StringVar(&f.key, "key", "", "the key of --certificate: env:NAME or file:PATH")
	cmd.MarkFlagsMutuallyExclusive("client", "user")
	cmd.MarkFlagsMutuallyExclusive("secret", "certificate")
	cmd.MarkFlagsOneRequired("secret", "certificate")
	cmd.MarkFlagsRequiredTogether("certificate", "key")
	return cmd
}

// binding returns the binding of an instance of the configuration.
func (f bindingFlags) binding(cfg config.REST, name string) (sap.Binding, error) {
	if cfg.PublicURL == "" {
		return sap.Binding{}, fmt.Errorf("the configuration has no rest.public_url, the address of the REST server as seen by clients")
	}
	for _, i := range cfg.SAP.Instances {
		if i.SAPService.Name == name {
			return f.of(cfg, i)
		}
	}
	return sap.Binding{}, fmt.Errorf("the configuration has no instance %q (rest.sap.instances)", name)
}

func (f bindingFlags) of(cfg config.REST, i config.SAPInstance) (b sap.Binding, err error) {
	b = sap.Binding{Name: i.SAPService.Name, PublicURL: cfg.PublicURL, Tenant: f.tenant, CertURL: strings.TrimSuffix(cfg.PublicURL, "/")}
	if b.Tenant == "" {
		b.Tenant = i.SAPService.Tenant
	}
	var secret string
	for _, one := range []struct {
		reference string
		to        *string
	}{{f.secret, &secret}, {f.certificate, &b.Certificate}, {f.key, &b.Key}} {
		if one.reference == "" {
			continue
		}
		if *one.to, err = secretref.Read(one.reference); err != nil {
			return b, err
		}
	}
	if f.user != "" {
		for _, user := range i.Users {
			if user.Name == f.user {
				b.User, b.Password = f.user, secret
				return b, nil
			}
		}
		return b, fmt.Errorf("the instance %q has no user %q", b.Name, f.user)
	}
	for _, client := range i.Clients {
		if f.client == "" || client.ID == f.client {
			b.ClientID, b.ClientSecret = client.ID, secret
			return b, nil
		}
	}
	return b, fmt.Errorf("the instance %q has no client %q", b.Name, f.client)
}
