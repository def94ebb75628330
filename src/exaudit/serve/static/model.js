// The page Model: fit again what the support set or the boundary has left behind.
import { api } from "./api.js";
import { $, failed } from "./dom.js";
import { watch } from "./shell.js";

$("refit").addEventListener("click", async () => {
  $("refit").disabled = true;
  try {
    await watch(await api("/api/model/refit", { method: "POST" }));
    location.reload();
  } catch (error) { failed(error); $("refit").disabled = false; }
});
document.body.dataset.ready = "true";
