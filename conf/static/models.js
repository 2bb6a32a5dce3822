/* 함께 온 모델을 엽니다. 처음 쓸 때에 스크립트로 읽습니다. */
"use strict";

const notesModel = (() => {
  const opened = {}; // 이름마다, 모델을 기다리는 약속

  async function load(name) {
    await notesScript(`models/${name}.js`);
    const model = await notesTransformer.open(notesModels[name]);
    delete notesModels[name]; // 글로 적힌 것은 더 쓰지 않습니다
    return model;
  }

  return async (name) => {
    opened[name] ??= load(name);
    try {
      return await opened[name];
    } catch (error) {
      delete opened[name]; // 다시 누르면 다시 읽습니다
      throw new Error(`${error.message} 모델을 열지 못했습니다. 다시 눌러도 이러면 `
        + "새 판의 브라우저로 열거나 사이트를 다시 지어 주세요.");
    }
  };
})();
