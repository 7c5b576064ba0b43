package outbound

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of a signed request (https://www.standardwebhooks.com).
const (
	headerWebhookID        = "Webhook-Id"
	headerWebhookTimestamp = "Webhook-Timestamp"
	headerWebhookSignature = "Webhook-Signature"
)

// Bounds of a key for HMAC, in bytes.
const (
	minWebhookKey = 24
	maxWebhookKey = 64
)

// webhookKey is a key of standard-webhooks.
type webhookKey struct {
	hmac    []byte             // of v1
	ed25519 ed25519.PrivateKey // of v1a, if hmac is nil
}

// parseWebhookKey parses a key. The error does not repeat it.
func parseWebhookKey(text string) (webhookKey, error) {
	private, isPrivate := strings.CutPrefix(text, "whsk_")
	if isPrivate {
		raw, err := base64.StdEncoding.DecodeString(private)
		switch {
		case err == nil && len(raw) == ed25519.SeedSize:
			return webhookKey{ed25519: ed25519.NewKeyFromSeed(raw)}, nil
		case err == nil && len(raw) == ed25519.PrivateKeySize:
			return webhookKey{ed25519: ed25519.PrivateKey(raw)}, nil
		}
		return webhookKey{}, fmt.Errorf("invalid key: want whsk_ and the base64 form of %d or %d bytes",
			ed25519.SeedSize, ed25519.PrivateKeySize)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if err != nil || len(raw) < minWebhookKey || len(raw) > maxWebhookKey {
		return webhookKey{}, fmt.Errorf("invalid key: want whsec_ and the base64 form of %d to %d bytes",
			minWebhookKey, maxWebhookKey)
	}
	return webhookKey{hmac: raw}, nil
}

// signWebhook sets the headers of a signed request.
func signWebhook(h http.Header, keys []webhookKey, id string, now time.Time, body []byte) error {
	if id == "" || strings.Contains(id, ".") {
		return errors.New("a signed request needs an id without a dot")
	}
	timestamp := strconv.FormatInt(now.Unix(), 10)
	content := append([]byte(id+"."+timestamp+"."), body...)
	var signatures []string
	for _, key := range keys {
		if key.hmac != nil {
			sum := hmac.New(sha256.New, key.hmac)
			sum.Write(content)
			signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
		} else {
			signatures = append(signatures, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(key.ed25519, content)))
		}
	}
	h.Set(headerWebhookID, id)
	h.Set(headerWebhookTimestamp, timestamp)
	h.Set(headerWebhookSignature, strings.Join(signatures, " "))
	return nil
}
