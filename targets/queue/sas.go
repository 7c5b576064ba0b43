package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// sasLifetime is how long a token that this package signs is valid. It bounds the harm of a token
// that leaks, and allows the agent's clock to be slow.
const sasLifetime = time.Hour

// signServiceBus returns the value of the header Authorization for a resource of Service Bus and
// everything below it. The key is used as text: it is not base64 to be decoded, unlike the keys of
// Storage accounts (https://learn.microsoft.com/rest/api/eventhub/generate-sas-token).
func signServiceBus(resource, keyName, key string, expiry time.Time) string {
	resource = strings.ToLower(url.QueryEscape(resource))
	until := strconv.FormatInt(expiry.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(resource + "\n" + until))
	return "SharedAccessSignature sr=" + resource +
		"&sig=" + url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil))) +
		"&se=" + until + "&skn=" + url.QueryEscape(keyName)
}

// storageSAS is a shared access signature of a Storage account: a query that is sent as it was
// given, because its signature covers the decoded values and its escapes may be of any style.
type storageSAS struct {
	query string
	// expiry is the end of its validity as the token spells it; empty if a stored access policy
	// decides.
	expiry string
	// secrets are the signature in clear and as it is escaped.
	secrets []string
}

// parseStorageSAS checks a token as the portal shows it, with or without a leading question mark.
// No error repeats any part of the token.
func parseStorageSAS(token string) (storageSAS, error) {
	s := storageSAS{query: strings.TrimPrefix(strings.TrimSpace(token), "?")}
	if s.query == "" {
		return storageSAS{}, faultf("the SAS token is empty")
	}
	if strings.Contains(s.query, "://") {
		return storageSAS{}, faultf("the SAS token is a URL: want its query alone, as sv=…&sig=…")
	}
	if strings.HasPrefix(s.query, "SharedAccessSignature ") {
		return storageSAS{}, faultf("the SAS token is one of Service Bus: want one of storage, as sv=…&sig=…")
	}
	for _, c := range []byte(s.query) {
		if c <= ' ' || c >= 0x7F || strings.IndexByte("#\";<>\\^`{|}", c) >= 0 {
			return storageSAS{}, faultf("the SAS token contains a character that a URL's query cannot contain")
		}
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(s.query, "&") {
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return storageSAS{}, faultf("the SAS token contains an invalid escape")
		}
		value, err := url.QueryUnescape(rawValue)
		if err != nil {
			return storageSAS{}, faultf("the SAS token contains an invalid escape")
		}
		if seen[name] {
			return storageSAS{}, faultf("the SAS token contains a parameter twice")
		}
		seen[name] = true
		switch name {
		case "sig":
			// An unescaped plus sign of base64 decodes to a space.
			s.secrets = append(s.secrets, rawValue, value, strings.ReplaceAll(value, " ", "+"))
		case "se":
			s.expiry = value
		case "sp":
			if !strings.Contains(value, "a") {
				return storageSAS{}, faultf("the SAS token does not allow adding messages: its permissions (sp) lack a")
			}
		case "messagettl", "visibilitytimeout", "timeout", "comp":
			return storageSAS{}, faultf("the SAS token contains the parameter %s, which is not part of one", name)
		}
	}
	if len(s.secrets) == 0 || s.secrets[0] == "" {
		return storageSAS{}, faultf("the SAS token has no signature (sig)")
	}
	return s, nil
}
