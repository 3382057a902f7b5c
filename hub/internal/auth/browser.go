package auth

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"integrationhub/hub"
	"integrationhub/hub/internal/store"
	"integrationhub/hub/internal/store/dbgen"
)

// BrowserSessionTTL is how long a browser's session lasts.
const BrowserSessionTTL = 12 * time.Hour

const browserPrefix = "hubs_" // of browsers' sessions, for leak scanners

// BrowserSession is the login of a browser. It is a row of the refresh tokens, so that all
// that ends logins ends it too.
type BrowserSession struct {
	Token     string // for the cookie
	CSRFToken string // which writes repeat in a header
	ExpiresAt time.Time
	Operator  Operator
}

// LoginBrowser checks a password and starts a browser's session. Its errors and limits are
// those of [Service.Login].
func (s *Service) LoginBrowser(ctx context.Context, email, password, clientIP string) (BrowserSession, error) {
	now := s.config.Now()
	session := BrowserSession{Token: randomToken(browserPrefix), ExpiresAt: now.Add(BrowserSessionTTL)}
	session.CSRFToken = s.csrfToken(session.Token)
	err := s.login(ctx, email, password, clientIP, func(ctx context.Context, queries *dbgen.Queries, operator Operator) error {
		session.Operator = operator
		return store.Wrap("storing the session", queries.CreateRefreshToken(ctx, dbgen.CreateRefreshTokenParams{
			Hash: hashToken(session.Token), FamilyID: uuid.Must(uuid.NewV7()), OperatorID: operator.ID, CreatedAt: now, ExpiresAt: session.ExpiresAt,
		}))
	})
	if err != nil {
		return BrowserSession{}, err
	}
	return session, nil
}

// VerifyBrowser returns the session of a cookie. A session that expired or was ended, and that
// of a disabled or deleted operator, is a [hub.ErrUnauthorized].
func (s *Service) VerifyBrowser(ctx context.Context, token string) (BrowserSession, error) {
	if !strings.HasPrefix(token, browserPrefix) {
		return BrowserSession{}, invalidSession()
	}
	row, err := dbgen.New(s.db).BrowserSession(ctx, hashToken(token), s.config.Now())
	if errors.Is(err, pgx.ErrNoRows) {
		return BrowserSession{}, invalidSession()
	}
	if err != nil {
		return BrowserSession{}, store.Wrap("loading the session", err)
	}
	return BrowserSession{Token: token, CSRFToken: s.csrfToken(token), ExpiresAt: row.ExpiresAt, Operator: operatorOf(row.Operator)}, nil
}

// EndBrowser ends a browser's session. Nothing to end is no error.
func (s *Service) EndBrowser(ctx context.Context, token string) error {
	now := s.config.Now()
	return store.Wrap("logging out", store.InTx(ctx, s.db, func(tx pgx.Tx) error {
		queries := dbgen.New(tx)
		row, err := queries.LockRefreshToken(ctx, hashToken(token))
		if errors.Is(err, pgx.ErrNoRows) || !strings.HasPrefix(token, browserPrefix) {
			return nil
		}
		if err != nil {
			return store.Wrap("loading the session", err)
		}
		return store.Wrap("ending a session", queries.RevokeTokenFamily(ctx, row.FamilyID, &now))
	}))
}

// HasCSRFToken reports, in constant time, whether a header has the session's CSRF token.
func (b BrowserSession) HasCSRFToken(header string) bool {
	return subtle.ConstantTimeCompare([]byte(b.CSRFToken), []byte(header)) == 1
}

// csrfToken returns the token that writes of a session need. Only the session's own pages can
// read it; it does not reveal the session.
func (s *Service) csrfToken(session string) string {
	return base64.RawURLEncoding.EncodeToString(s.keyedHash("csrf:" + session))
}

func invalidSession() *hub.Error {
	return hub.Errorf(hub.ErrUnauthorized, "invalid_session", "This session has ended: log in again.")
}
