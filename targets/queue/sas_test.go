package queue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// verifyServiceBusSAS verifies a token as the service does
// (https://learn.microsoft.com/rest/api/eventhub/generate-sas-token): the signature is the
// HMAC-SHA256 of the escaped resource, a line feed and the expiry, with the key's text as it is.
// The resource must be the requested one or one above it, without regard to scheme and case.
func verifyServiceBusSAS(token, requested, keyName, key string, now time.Time) error {
	rest, ok := strings.CutPrefix(token, "SharedAccessSignature ")
	if !ok {
		return fmt.Errorf("not a shared access signature")
	}
	raw := map[string]string{}
	for pair := range strings.SplitSeq(rest, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if _, twice := raw[name]; twice {
			return fmt.Errorf("%s twice", name)
		}
		raw[name] = value
	}
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s\n%s", raw["sr"], raw["se"])
	sig, err := url.QueryUnescape(raw["sig"])
	if err != nil || sig != base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		return fmt.Errorf("invalid signature")
	}
	expiry, err := strconv.ParseInt(raw["se"], 10, 64)
	if err != nil || now.Unix() >= expiry {
		return fmt.Errorf("expired")
	}
	if name, err := url.QueryUnescape(raw["skn"]); err != nil || name != keyName {
		return fmt.Errorf("unknown key name")
	}
	resource, err := url.QueryUnescape(raw["sr"])
	if err != nil {
		return err
	}
	path := func(text string) string {
		_, after, _ := strings.Cut(strings.ToLower(text), "://")
		return strings.TrimSuffix(after, "/") + "/"
	}
	if !strings.HasPrefix(path(requested), path(resource)) {
		return fmt.Errorf("%s is not below %s", requested, resource)
	}
	return nil
}

// The expected signature was computed with openssl:
// printf '%s\n%s' 'https%3a%2f%2fns.servicebus.windows.net%2fq' 1700000000 |
// openssl dgst -sha256 -hmac 'a2V5' -binary | base64
func TestSignServiceBusKnownAnswer(t *testing.T) {
	got := signServiceBus("https://ns.servicebus.windows.net/Q", "send", "a2V5", time.Unix(1700000000, 0))
	require.Equal(t, "SharedAccessSignature sr=https%3a%2f%2fns.servicebus.windows.net%2fq&sig=GIbI6QQL4fNg0g6jK0k%2BngkpV0%2FTU5FhVMODP2aXyQM%3D&se=1700000000&skn=send", got)
}

func TestSignServiceBusVerifies(t *testing.T) {
	now := time.Now()
	for _, key := range []string{"a2V5", "not base64 at all: ü&=", strings.Repeat("k", 200)} {
		token := signServiceBus("https://ns.servicebus.windows.net/a/b", "name with space", key, now.Add(sasLifetime))
		require.NoError(t, verifyServiceBusSAS(token, "https://ns.servicebus.windows.net/a/b", "name with space", key, now))
		require.NoError(t, verifyServiceBusSAS(token, "amqps://NS.servicebus.windows.net/a/b/$management", "name with space", key, now))
		require.ErrorContains(t, verifyServiceBusSAS(token, "https://ns.servicebus.windows.net/a/bc", "name with space", key, now), "not below")
		require.ErrorContains(t, verifyServiceBusSAS(token, "https://ns.servicebus.windows.net/a/b", "name with space", key+"x", now), "signature")
		require.ErrorContains(t, verifyServiceBusSAS(token, "https://ns.servicebus.windows.net/a/b", "name with space", key,
			now.Add(sasLifetime)), "expired")
	}
}

// storageToken returns a service SAS of a queue, made as documented
// (https://learn.microsoft.com/rest/api/storageservices/create-service-sas, version 2019-02-02).
func storageToken(account, queue, key, permissions string, expiry time.Time) string {
	until := expiry.UTC().Format("2006-01-02T15:04:05Z")
	const version = "2019-02-02"
	sig := storageSignature(key, permissions, "", until, "/queue/"+account+"/"+queue, "", "", "", version)
	return "sv=" + version + "&sp=" + permissions + "&se=" + url.QueryEscape(until) + "&sig=" + url.QueryEscape(sig)
}

// storageSignature signs the fields of a service SAS with an account's key, which is base64.
func storageSignature(key string, fields ...string) string {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		panic(err) // a key of the tests
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte(strings.Join(fields, "\n")))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func TestParseStorageSAS(t *testing.T) {
	for token, query := range map[string]string{
		"?sv=2019-02-02&sp=a&sig=a%2Bb%3D":                         "sv=2019-02-02&sp=a&sig=a%2Bb%3D",
		" sig=a%2bb%3d&sp=rau&se=2030-01-01T00%3A00%3A00Z\n":       "sig=a%2bb%3d&sp=rau&se=2030-01-01T00%3A00%3A00Z",
		"sv=2019-02-02&si=policy&sig=YWJj":                         "sv=2019-02-02&si=policy&sig=YWJj",
		"sv=2019-02-02&se=2030-01-01T00:00:00Z&sp=raup&sig=a+b/c=": "sv=2019-02-02&se=2030-01-01T00:00:00Z&sp=raup&sig=a+b/c=",
	} {
		s, err := parseStorageSAS(token)
		require.NoError(t, err, token)
		require.Equal(t, query, s.query)
	}
	s, err := parseStorageSAS("sv=1&se=2030-01-01T00%3A00%3A00Z&sig=a%2Bb%3D")
	require.NoError(t, err)
	require.Equal(t, "2030-01-01T00:00:00Z", s.expiry)
	require.Subset(t, s.secrets, []string{"a%2Bb%3D", "a+b="})
	s, err = parseStorageSAS("sig=a+b=")
	require.NoError(t, err)
	require.Contains(t, s.secrets, "a+b=", "an unescaped plus sign is part of the signature")
}

// No error repeats a part of the token.
func TestParseStorageSASFaults(t *testing.T) {
	for token, part := range map[string]string{
		"":                                "empty",
		"?":                               "empty",
		"sv=SECRET&sp=a":                  "no signature",
		"sv=1&sig=":                       "no signature",
		"sig=SECRET&sp=rup":               "lack a",
		"sig=SECRET&sig=SECRET":           "twice",
		"sig=SECRET&messagettl=-1":        "messagettl",
		"sig=SECRET&visibilitytimeout=0":  "visibilitytimeout",
		"sig=SECRET%":                     "escape",
		"%zz=SECRET":                      "escape",
		"sig=SECRET x":                    "character",
		"sig=SECRET#x":                    "character",
		"sig=;SECRET":                     "character",
		"sig=SECRET\r\nX: y":              "character",
		"sig=SECRETü":                     "character",
		"https://a.b/q?sig=SECRET":        "URL",
		"SharedAccessSignature sr=SECRET": "Service Bus",
	} {
		_, err := parseStorageSAS(token)
		requireFault(t, err, part)
		require.NotContains(t, err.Error(), "SECRET")
	}
}
