// oidc-provider on loopback, with one person, whose claims come from userinfo as many providers send them.
import { Provider } from "oidc-provider";

const { PORT, ADDRESS, CALLBACK, LOGOUT, CLIENT_ID, CLIENT_SECRET, EMAIL } = process.env;
const person = { email: EMAIL, email_verified: true, name: "Ada", groups: ["writers", "unknown"] };

const provider = new Provider(`http://127.0.0.1:${PORT}`, {
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [CALLBACK],
      post_logout_redirect_uris: [`${ADDRESS}/sign-in`],
      backchannel_logout_uri: LOGOUT,
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  features: { backchannelLogout: { enabled: true } },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...person }) }),
  // Without its dispatcher, which sends nothing to loopback: the product is there.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
});
provider.on("backchannel.error", (_, error) => console.error("back-channel logout:", error.message));
provider.on("server_error", (_, error) => console.error(error));
provider.listen(Number(PORT), "127.0.0.1");
