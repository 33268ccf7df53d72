// Trades the link of the address for a session. The link is taken out of the address first, so that no history keeps it.
const chinese = navigator.language.toLowerCase().startsWith("zh");
const words = chinese
  ? { none: "此页面需要一次性链接；可用 haft admin reset 生成", done: "已登录", lost: "服务器没有应答" }
  : { none: "this page needs a one-time link; haft admin reset makes one", done: "you are signed in", lost: "the server does not answer" };
const said = document.getElementById("said");
const link = new URLSearchParams(location.search).get("link");
history.replaceState(null, "", location.pathname);
document.documentElement.lang = chinese ? "zh" : "en";
if (!link) {
  said.textContent = words.none;
} else {
  fetch("/api/login", {
    method: "POST",
    headers: { "content-type": "application/json", "accept-language": chinese ? "zh" : "en" },
    body: JSON.stringify({ link }),
  })
    .then((answer) => answer.json())
    .then((answer) => {
      said.textContent = answer.code === 200 ? `${words.done}: ${answer.data.user.name}` : answer.message;
    })
    .catch(() => {
      said.textContent = words.lost;
    });
}
